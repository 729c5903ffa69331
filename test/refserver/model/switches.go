package model

import (
	"net/http"
	"slices"
	"time"
)

// Switches returns a team's dead man's switches.
func (m *Model) Switches(teamID int64) ([]Switch, error) {
	switches := []Switch{}
	var err error
	m.read(func(d *Data, _ time.Time) {
		if _, err = d.needTeam(teamID); err != nil {
			return
		}
		for _, s := range d.Switches {
			if s.TeamID == teamID {
				switches = append(switches, s)
			}
		}
	})
	return switches, err
}

// CreateSwitch makes a switch from Name, Matcher, TimeoutText and Severity. It is armed at once.
func (m *Model) CreateSwitch(teamID int64, s Switch) (Switch, error) {
	s.Name = m.name(s.Name)
	err := m.write(func(d *Data, now time.Time) error {
		if _, err := d.needTeam(teamID); err != nil {
			return err
		}
		if err := checkSwitch(&s); err != nil {
			return err
		}
		if slices.ContainsFunc(d.Switches, func(o Switch) bool { return o.TeamID == teamID && o.Name == s.Name }) {
			return refuse(http.StatusConflict, "a dead man's switch of that name exists")
		}
		s.ID, s.TeamID, s.CreatedAt, s.LastSeen = d.nextID(), teamID, now, now
		d.Switches = append(d.Switches, s)
		return nil
	})
	return s, err
}

func checkSwitch(s *Switch) error {
	if err := named("name", s.Name); err != nil {
		return err
	}
	if _, err := parseMatcher(s.Matcher); err != nil {
		return refuse(http.StatusUnprocessableEntity, "matcher: %v", err)
	}
	timeout, err := positive(s.TimeoutText)
	if err != nil {
		return refuse(http.StatusUnprocessableEntity, "timeout must be a positive duration such as 15m")
	}
	s.Timeout = timeout
	if !slices.Contains(severities, s.Severity) {
		return refuse(http.StatusUnprocessableEntity, "severity must be one of info, warning, critical")
	}
	return nil
}

// DeleteSwitch deletes a switch.
func (m *Model) DeleteSwitch(teamID, id int64) error {
	return m.write(func(d *Data, _ time.Time) error {
		if _, err := d.needTeam(teamID); err != nil {
			return err
		}
		kept := slices.DeleteFunc(slices.Clone(d.Switches), func(s Switch) bool { return s.ID == id && s.TeamID == teamID })
		if len(kept) == len(d.Switches) {
			return refuse(http.StatusNotFound, "dead man's switch not found")
		}
		d.Switches = kept
		return nil
	})
}

// Integrations returns a team's integrations.
func (m *Model) Integrations(teamID int64) ([]Integration, error) {
	integrations := []Integration{}
	var err error
	m.read(func(d *Data, _ time.Time) {
		if _, err = d.needTeam(teamID); err != nil {
			return
		}
		for _, i := range d.Integrations {
			if i.TeamID == teamID {
				integrations = append(integrations, i)
			}
		}
	})
	return integrations, err
}

func (d *Data) integrationNameFree(teamID int64, name string, except int64) error {
	taken := slices.ContainsFunc(d.Integrations, func(i Integration) bool {
		return i.TeamID == teamID && i.Name == name && i.ID != except
	})
	if taken {
		return refuse(http.StatusConflict, "an integration of that name exists")
	}
	return nil
}

// CreateIntegration makes an integration and returns it with its key.
func (m *Model) CreateIntegration(teamID int64, kind, name, chosen string) (Integration, string, error) {
	name = m.name(name)
	var integration Integration
	var material string
	err := m.write(func(d *Data, now time.Time) error {
		if _, err := d.needTeam(teamID); err != nil {
			return err
		}
		if err := named("name", name); err != nil {
			return err
		}
		if !slices.Contains(m.settings.IntegrationKinds, kind) {
			return refuse(http.StatusUnprocessableEntity, "kind is none of %v", m.settings.IntegrationKinds)
		}
		if err := d.integrationNameFree(teamID, name, 0); err != nil {
			return err
		}
		var err error
		if material, err = d.material(chosen); err != nil {
			return err
		}
		integration = Integration{
			ID: d.nextID(), TeamID: teamID, Kind: kind, Name: name, KeyHash: hash(material), CreatedAt: now,
		}
		d.Integrations = append(d.Integrations, integration)
		return nil
	})
	return integration, m.issue(material, err), err
}

// RenameIntegration renames an integration.
func (m *Model) RenameIntegration(teamID, id int64, name string) (Integration, error) {
	name = m.name(name)
	var renamed Integration
	err := m.write(func(d *Data, _ time.Time) error {
		i, err := d.needIntegration(teamID, id)
		if err != nil {
			return err
		}
		if err = named("name", name); err != nil {
			return err
		}
		if err = d.integrationNameFree(teamID, name, id); err != nil {
			return err
		}
		d.Integrations[i].Name = name
		renamed = d.Integrations[i]
		return nil
	})
	return renamed, err
}

// DeleteIntegration deletes an integration; its key stops working.
func (m *Model) DeleteIntegration(teamID, id int64) error {
	return m.write(func(d *Data, _ time.Time) error {
		i, err := d.needIntegration(teamID, id)
		if err != nil {
			return err
		}
		d.Integrations = slices.Delete(d.Integrations, i, i+1)
		return nil
	})
}

func (d *Data) needIntegration(teamID, id int64) (int, error) {
	if _, err := d.needTeam(teamID); err != nil {
		return 0, err
	}
	i := slices.IndexFunc(d.Integrations, func(i Integration) bool { return i.ID == id && i.TeamID == teamID })
	if i < 0 {
		return 0, refuse(http.StatusNotFound, "integration not found")
	}
	return i, nil
}
