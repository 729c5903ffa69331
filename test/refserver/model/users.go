package model

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"strings"
	"time"
)

const maxName = 200

// named refuses a name that is empty, blank or too long.
func named(field, value string) error {
	switch {
	case strings.TrimSpace(value) == "":
		return refuse(http.StatusUnprocessableEntity, "%s is required", field)
	case len([]rune(value)) > maxName:
		return refuse(http.StatusUnprocessableEntity, "%s is longer than %d characters", field, maxName)
	}
	return nil
}

func (d *Data) user(id int64) *User {
	i := slices.IndexFunc(d.Users, func(u User) bool { return u.ID == id })
	if i < 0 {
		return nil
	}
	return &d.Users[i]
}

func (d *Data) account(id int64) *Account {
	i := slices.IndexFunc(d.Accounts, func(a Account) bool { return a.ID == id })
	if i < 0 {
		return nil
	}
	return &d.Accounts[i]
}

// Users returns all users.
func (m *Model) Users() []User {
	var users []User
	m.read(func(d *Data, _ time.Time) { users = slices.Clone(d.Users) })
	return users
}

// User returns one user.
func (m *Model) User(id int64) (User, error) {
	var user User
	err := refuse(http.StatusNotFound, "user not found")
	m.read(func(d *Data, _ time.Time) {
		if u := d.user(id); u != nil {
			user, err = *u, nil
		}
	})
	return user, err
}

// CreateUser makes a user.
func (m *Model) CreateUser(username, email string, admin bool) (User, error) {
	var user User
	err := m.write(func(d *Data, now time.Time) error {
		if err := named("username", username); err != nil {
			return err
		}
		if slices.ContainsFunc(d.Users, func(u User) bool { return u.Username == username }) {
			return refuse(http.StatusConflict, "a user of that name exists")
		}
		user = User{ID: d.nextID(), Username: username, Email: email, Admin: admin, CreatedAt: now}
		d.Users = append(d.Users, user)
		return nil
	})
	return user, err
}

// DeleteUser deletes a user with keys and shifts, and takes it out of policies.
func (m *Model) DeleteUser(id int64) error {
	return m.write(func(d *Data, _ time.Time) error {
		if d.user(id) == nil {
			return refuse(http.StatusNotFound, "user not found")
		}
		d.Users = slices.DeleteFunc(d.Users, func(u User) bool { return u.ID == id })
		d.Keys = slices.DeleteFunc(d.Keys, func(k Key) bool { return k.OwnerID == id })
		d.Schedule = slices.DeleteFunc(d.Schedule, func(s Shift) bool { return s.UserID == id })
		for _, policy := range d.Policies {
			for i := range policy.Levels {
				targets := policy.Levels[i].Targets
				policy.Levels[i].Targets = slices.DeleteFunc(targets, func(t Target) bool { return t.UserID == id })
			}
		}
		return nil
	})
}

// SetTopic sets a user's ntfy topic.
func (m *Model) SetTopic(id int64, topic string) (User, error) {
	var user User
	err := m.write(func(d *Data, _ time.Time) error {
		u := d.user(id)
		if u == nil {
			return refuse(http.StatusNotFound, "user not found")
		}
		if strings.ContainsAny(topic, "/ ?#") {
			return refuse(http.StatusUnprocessableEntity, "ntfy_topic must be one word")
		}
		u.Topic = topic
		user = *u
		return nil
	})
	return user, err
}

// SetPassword sets a user's password. Nobody can log in here, so a salted digest serves.
func (m *Model) SetPassword(id int64, password string) error {
	return m.write(func(d *Data, _ time.Time) error {
		u := d.user(id)
		if u == nil {
			return refuse(http.StatusNotFound, "user not found")
		}
		if len(password) < 8 {
			return refuse(http.StatusUnprocessableEntity, "password must have at least 8 characters")
		}
		salt := randomBytes(16)
		sum := sha256.Sum256(append(slices.Clone(salt), password...))
		u.Password = append(salt, sum[:]...)
		return nil
	})
}

// Accounts returns the service accounts, or those of one name.
func (m *Model) Accounts(name string) []Account {
	accounts := []Account{}
	m.read(func(d *Data, _ time.Time) {
		for _, account := range d.Accounts {
			if name == "" || account.Name == name {
				accounts = append(accounts, account)
			}
		}
	})
	return accounts
}

// Account returns one service account.
func (m *Model) Account(id int64) (Account, error) {
	var account Account
	err := refuse(http.StatusNotFound, "service account not found")
	m.read(func(d *Data, _ time.Time) {
		if a := d.account(id); a != nil {
			account, err = *a, nil
		}
	})
	return account, err
}

// CreateAccount makes a service account with its first key.
func (m *Model) CreateAccount(name string, teamID int64, chosen string) (Account, Key, string, error) {
	var account Account
	var key Key
	var material string
	err := m.write(func(d *Data, now time.Time) error {
		if err := named("name", name); err != nil {
			return err
		}
		if teamID != 0 && d.team(teamID) == nil {
			return refuse(http.StatusUnprocessableEntity, "team_id %d is no team", teamID)
		}
		if slices.ContainsFunc(d.Accounts, func(a Account) bool { return a.Name == name }) {
			return refuse(http.StatusConflict, "a service account of that name exists")
		}
		var err error
		if material, err = d.material(chosen); err != nil {
			return err
		}
		account = Account{ID: d.nextID(), Name: name, TeamID: teamID, CreatedAt: now}
		d.Accounts = append(d.Accounts, account)
		key = d.addKey(account.ID, name, material, now)
		return nil
	})
	return account, key, m.issue(material, err), err
}

// DeleteAccount deletes a service account and its keys.
func (m *Model) DeleteAccount(id int64) error {
	return m.write(func(d *Data, _ time.Time) error {
		if d.account(id) == nil {
			return refuse(http.StatusNotFound, "service account not found")
		}
		d.dropAccounts(func(a Account) bool { return a.ID == id })
		return nil
	})
}

func (d *Data) dropAccounts(gone func(Account) bool) {
	for _, account := range d.Accounts {
		if gone(account) {
			d.Keys = slices.DeleteFunc(d.Keys, func(k Key) bool { return k.OwnerID == account.ID })
		}
	}
	d.Accounts = slices.DeleteFunc(d.Accounts, gone)
}
