package model

import (
	"net/http"
	"slices"
	"time"
)

func (d *Data) team(id int64) *Team {
	i := slices.IndexFunc(d.Teams, func(t Team) bool { return t.ID == id })
	if i < 0 {
		return nil
	}
	return &d.Teams[i]
}

func (d *Data) needTeam(id int64) (*Team, error) {
	team := d.team(id)
	if team == nil {
		return nil, refuse(http.StatusNotFound, "team not found")
	}
	return team, nil
}

func (d *Data) teamNameFree(name string, except int64) error {
	if slices.ContainsFunc(d.Teams, func(t Team) bool { return t.Name == name && t.ID != except }) {
		return refuse(http.StatusConflict, "a team of that name exists")
	}
	return nil
}

// Teams returns all teams, or the one with the given id.
func (m *Model) Teams(only int64) []Team {
	teams := []Team{}
	m.read(func(d *Data, _ time.Time) {
		for _, team := range d.Teams {
			if only == 0 || team.ID == only {
				teams = append(teams, team)
			}
		}
	})
	return teams
}

// CreateTeam makes a team.
func (m *Model) CreateTeam(name string) (Team, error) {
	name = m.name(name)
	var team Team
	err := m.write(func(d *Data, now time.Time) error {
		if err := named("name", name); err != nil {
			return err
		}
		if err := d.teamNameFree(name, 0); err != nil {
			return err
		}
		team = Team{ID: d.nextID(), Name: name, CreatedAt: now}
		d.Teams = append(d.Teams, team)
		return nil
	})
	return team, err
}

// RenameTeam renames a team.
func (m *Model) RenameTeam(id int64, name string) (Team, error) {
	name = m.name(name)
	var renamed Team
	err := m.write(func(d *Data, _ time.Time) error {
		team, err := d.needTeam(id)
		if err != nil {
			return err
		}
		if err = named("name", name); err != nil {
			return err
		}
		if err = d.teamNameFree(name, id); err != nil {
			return err
		}
		team.Name = name
		renamed = *team
		return nil
	})
	return renamed, err
}

// SetGroups sets a team's single sign-on groups.
func (m *Model) SetGroups(id int64, member, owner string) (Team, error) {
	var changed Team
	err := m.write(func(d *Data, _ time.Time) error {
		team, err := d.needTeam(id)
		if err != nil {
			return err
		}
		team.MemberGroup, team.OwnerGroup = member, owner
		changed = *team
		return nil
	})
	return changed, err
}

// DeleteTeam deletes a team and everything on it. Its incidents and alerts stay as history.
func (m *Model) DeleteTeam(id int64) error {
	return m.write(func(d *Data, _ time.Time) error {
		if _, err := d.needTeam(id); err != nil {
			return err
		}
		d.Teams = slices.DeleteFunc(d.Teams, func(t Team) bool { return t.ID == id })
		d.Switches = slices.DeleteFunc(d.Switches, func(s Switch) bool { return s.TeamID == id })
		d.Integrations = slices.DeleteFunc(d.Integrations, func(i Integration) bool { return i.TeamID == id })
		d.dropAccounts(func(a Account) bool { return a.TeamID == id })
		delete(d.Policies, id)
		return nil
	})
}

// Escalation returns a team's policy.
func (m *Model) Escalation(teamID int64) (Policy, error) {
	var policy Policy
	var err error
	m.read(func(d *Data, _ time.Time) {
		if _, err = d.needTeam(teamID); err == nil {
			policy = clonePolicy(d.Policies[teamID])
		}
	})
	return policy, err
}

// clonePolicy keeps what callers hold apart from what a later write changes.
func clonePolicy(policy Policy) Policy {
	policy.Levels = slices.Clone(policy.Levels)
	for i := range policy.Levels {
		policy.Levels[i].Targets = slices.Clone(policy.Levels[i].Targets)
	}
	return policy
}

// PutEscalation replaces a team's policy; one without levels clears it.
func (m *Model) PutEscalation(teamID int64, policy Policy) (Policy, error) {
	policy = clonePolicy(policy)
	err := m.write(func(d *Data, _ time.Time) error {
		if _, err := d.needTeam(teamID); err != nil {
			return err
		}
		if policy.RepeatCount < 0 {
			return refuse(http.StatusUnprocessableEntity, "repeat_count must not be negative")
		}
		if len(policy.Levels) == 0 {
			policy = Policy{}
			delete(d.Policies, teamID)
			return nil
		}
		for i := range policy.Levels {
			if err := d.checkLevel(i, &policy.Levels[i]); err != nil {
				return err
			}
		}
		d.Policies[teamID] = clonePolicy(policy)
		return nil
	})
	return policy, err
}

func (d *Data) checkLevel(i int, level *Level) error {
	timeout, err := positive(level.TimeoutText)
	if err != nil {
		return refuse(http.StatusUnprocessableEntity, "levels[%d].timeout must be a positive duration such as 5m", i)
	}
	level.Timeout = timeout
	if len(level.Targets) == 0 {
		return refuse(http.StatusUnprocessableEntity, "levels[%d].targets must not be empty", i)
	}
	for j, target := range level.Targets {
		if target.UserID != 0 && d.user(target.UserID) == nil {
			return refuse(http.StatusUnprocessableEntity, "levels[%d].targets[%d].user_id %d is no user", i, j, target.UserID)
		}
	}
	return nil
}

// positive parses a duration above zero.
func positive(text string) (time.Duration, error) {
	duration, err := time.ParseDuration(text)
	if err == nil && duration <= 0 {
		err = refuse(http.StatusUnprocessableEntity, "not positive")
	}
	return duration, err
}
