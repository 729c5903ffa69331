package refserver

import (
	"fmt"

	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
)

// The methods here look at the state, and change it, without the wire: for tests. Where several servers share a store they
// look at what this one last saw; Model().Refresh brings that up to date.

// Model gives everything else that can be done without the wire.
func (s *Server) Model() *model.Model { return s.model }

// Teams returns all teams.
func (s *Server) Teams() []model.Team { return s.model.Teams(0) }

// Switches returns a team's dead man's switches; none for a team that does not exist.
func (s *Server) Switches(teamID int64) []model.Switch {
	switches, err := s.model.Switches(teamID)
	if err != nil {
		return nil
	}
	return switches
}

// Integrations returns a team's integrations; none for a team that does not exist.
func (s *Server) Integrations(teamID int64) []model.Integration {
	integrations, err := s.model.Integrations(teamID)
	if err != nil {
		return nil
	}
	return integrations
}

// Escalation returns a team's policy; one without levels when none is set or the team does not exist.
func (s *Server) Escalation(teamID int64) model.Policy {
	policy, err := s.model.Escalation(teamID)
	if err != nil {
		return model.Policy{}
	}
	return policy
}

// LiveKeys returns every API key that is accepted now, without its material.
func (s *Server) LiveKeys() []model.Key { return s.model.LiveKeys() }

// KeyID returns the id of a live API key, 0 when the key is not accepted.
func (s *Server) KeyID(key string) int64 { return s.model.KeyID(key) }

// Issued is every key that this server has handed out, those of integrations and those that are revoked among them.
func (s *Server) Issued() []string { return s.model.Issued() }

// IntegrationID returns the integration whose key this is, 0 when there is none.
func (s *Server) IntegrationID(key string) int64 { return s.model.IntegrationID(key) }

// Accounts returns all service accounts.
func (s *Server) Accounts() []model.Account { return s.model.Accounts("") }

// Users returns all users.
func (s *Server) Users() []model.User { return s.model.Users() }

// Incidents returns all incidents, newest first.
func (s *Server) Incidents() []model.Incident { return s.model.Incidents() }

// AddUser makes a user with a key, as somebody else would have done. On a fresh server this counts as its bootstrap.
func (s *Server) AddUser(username string, admin bool) (user model.User, key string, err error) {
	user, err = s.model.CreateUser(username, username+"@example.com", admin)
	if err != nil {
		return user, "", fmt.Errorf("add user %q: %w", username, err)
	}
	_, key, err = s.model.CreateKey(user.ID, "test", "")
	if err != nil {
		return user, "", fmt.Errorf("add key for user %q: %w", username, err)
	}
	return user, key, nil
}

// RenameTeam changes a team's name behind everybody's back.
func (s *Server) RenameTeam(teamID int64, name string) error {
	_, err := s.model.RenameTeam(teamID, name)
	return err
}
