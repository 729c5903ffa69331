package model

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"regexp"
	"slices"
	"time"
)

// Actor is whoever a key belongs to.
type Actor struct {
	ID     int64
	KeyID  int64
	Name   string
	Admin  bool
	TeamID int64 // the only team that the actor reaches; 0 means all
	// Account is true for a service account.
	Account bool
}

var chosenKey = regexp.MustCompile(`^[0-9a-f]{64}$`)

// hash is plain SHA-256: keys are 256 random bits, which no dictionary holds.
func hash(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

// material returns the chosen key, or a random one.
func (d *Data) material(chosen string) (string, error) {
	if chosen == "" {
		return hex.EncodeToString(randomBytes(32)), nil
	}
	if !chosenKey.MatchString(chosen) {
		return "", refuse(http.StatusUnprocessableEntity, "key must be 64 lower-case hexadecimal characters")
	}
	if d.keyOf(chosen) >= 0 || d.integrationOf(chosen) >= 0 {
		return "", refuse(http.StatusConflict, "key is already in use")
	}
	return chosen, nil
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	// crypto/rand never fails: it ends the program where the system has no randomness.
	_, _ = rand.Read(b)
	return b
}

func (d *Data) keyOf(key string) int {
	want := hash(key)
	return slices.IndexFunc(d.Keys, func(k Key) bool { return subtle.ConstantTimeCompare(k.Hash, want) == 1 })
}

func (d *Data) integrationOf(key string) int {
	want := hash(key)
	return slices.IndexFunc(d.Integrations, func(i Integration) bool {
		return subtle.ConstantTimeCompare(i.KeyHash, want) == 1
	})
}

// Authenticate finds whom a key belongs to and notes its use; false for a key that is not one.
func (m *Model) Authenticate(key string) (Actor, bool) {
	var actor Actor
	found := false
	m.read(func(d *Data, now time.Time) {
		i := d.keyOf(key)
		if key == "" || i < 0 {
			return
		}
		d.Keys[i].LastUsedAt = &now
		actor, found = d.actor(d.Keys[i])
	})
	return actor, found
}

func (d *Data) actor(key Key) (Actor, bool) {
	if user := d.user(key.OwnerID); user != nil {
		return Actor{ID: user.ID, KeyID: key.ID, Name: user.Username, Admin: user.Admin}, true
	}
	if account := d.account(key.OwnerID); account != nil {
		return Actor{
			ID: account.ID, KeyID: key.ID, Name: account.Name,
			Admin: account.TeamID == 0, TeamID: account.TeamID, Account: true,
		}, true
	}
	return Actor{}, false
}

// Bootstrap makes the first user, an admin, and returns it with its key.
func (m *Model) Bootstrap(username, email, chosen string) (User, string, error) {
	var user User
	var material string
	err := m.write(func(d *Data, now time.Time) error {
		if len(d.Users) > 0 {
			return refuse(http.StatusForbidden, "already bootstrapped")
		}
		if err := named("username", username); err != nil {
			return err
		}
		var err error
		if material, err = d.material(chosen); err != nil {
			return err
		}
		user = User{ID: d.nextID(), Username: username, Email: email, Admin: true, CreatedAt: now}
		d.Users = append(d.Users, user)
		d.addKey(user.ID, "bootstrap", material, now)
		return nil
	})
	return user, m.issue(material, err), err
}

// issue notes material that was handed out.
func (m *Model) issue(material string, err error) string {
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.issued = append(m.issued, material)
	}
	return material
}

// Issued is the material of every key that this process has handed out, those of integrations and those that are revoked
// among them: for tests that look for it where it must not be.
func (m *Model) Issued() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.issued)
}

func (d *Data) addKey(ownerID int64, name, material string, now time.Time) Key {
	key := Key{ID: d.nextID(), OwnerID: ownerID, Name: name, Hash: hash(material), CreatedAt: now}
	d.Keys = append(d.Keys, key)
	return key
}

// CreateKey makes a key for a user or an account and returns it with its material.
func (m *Model) CreateKey(ownerID int64, name, chosen string) (Key, string, error) {
	var key Key
	var material string
	err := m.write(func(d *Data, now time.Time) error {
		if err := d.owner(ownerID); err != nil {
			return err
		}
		if err := named("name", name); err != nil {
			return err
		}
		var err error
		if material, err = d.material(chosen); err != nil {
			return err
		}
		key = d.addKey(ownerID, name, material, now)
		return nil
	})
	return key, m.issue(material, err), err
}

// KeysOf returns the keys of a user or an account.
func (m *Model) KeysOf(ownerID int64) ([]Key, error) {
	keys := []Key{}
	var err error
	m.read(func(d *Data, _ time.Time) {
		if err = d.owner(ownerID); err != nil {
			return
		}
		for _, key := range d.Keys {
			if key.OwnerID == ownerID {
				keys = append(keys, key)
			}
		}
	})
	return keys, err
}

// DeleteKey revokes a key.
func (m *Model) DeleteKey(ownerID, keyID int64) error {
	return m.write(func(d *Data, _ time.Time) error {
		kept := slices.DeleteFunc(slices.Clone(d.Keys), func(k Key) bool { return k.ID == keyID && k.OwnerID == ownerID })
		if len(kept) == len(d.Keys) {
			return refuse(http.StatusNotFound, "API key not found")
		}
		d.Keys = kept
		return nil
	})
}

func (d *Data) owner(id int64) error {
	if d.user(id) == nil && d.account(id) == nil {
		return refuse(http.StatusNotFound, "user not found")
	}
	return nil
}

// KeyID returns the id of a live API key, 0 when it is not one; unlike Authenticate it notes no use.
func (m *Model) KeyID(key string) int64 {
	var id int64
	m.read(func(d *Data, _ time.Time) {
		if i := d.keyOf(key); i >= 0 {
			id = d.Keys[i].ID
		}
	})
	return id
}

// IntegrationID returns the id of the integration whose key this is, 0 when there is none.
func (m *Model) IntegrationID(key string) int64 {
	var id int64
	m.read(func(d *Data, _ time.Time) {
		if i := d.integrationOf(key); i >= 0 {
			id = d.Integrations[i].ID
		}
	})
	return id
}
