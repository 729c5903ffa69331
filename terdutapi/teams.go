package terdutapi

import "context"

// ListTeams returns the teams that the key reaches.
func (c *Client) ListTeams(ctx context.Context) ([]Team, error) {
	return array[Team](c.raw.ListTeams(ctx))
}

// CreateTeam makes a team; ErrConflict when the name is taken.
func (c *Client) CreateTeam(ctx context.Context, name string) (*Team, error) {
	return object[Team](c.raw.CreateTeam(ctx, TeamRequest{Name: name}))
}

// RenameTeam renames a team and returns it as it is now; ErrConflict when the name is taken.
func (c *Client) RenameTeam(ctx context.Context, teamID int64, name string) (*Team, error) {
	return object[Team](c.raw.RenameTeam(ctx, teamID, TeamRequest{Name: name}))
}

// DeleteTeam deletes a team and everything on it.
func (c *Client) DeleteTeam(ctx context.Context, teamID int64) error {
	return nothing(c.raw.DeleteTeam(ctx, teamID))
}

// SetTeamOIDCGroups sets both single sign-on groups of a team and returns it as it is now; "" clears one.
func (c *Client) SetTeamOIDCGroups(ctx context.Context, teamID int64, groups OIDCGroups) (*Team, error) {
	return object[Team](c.raw.SetTeamOIDCGroups(ctx, teamID, groups))
}

// GetEscalation returns a team's whole policy, one with no levels where none is set. Levels is never nil.
func (c *Client) GetEscalation(ctx context.Context, teamID int64) (*EscalationPolicy, error) {
	return object[EscalationPolicy](c.raw.GetEscalation(ctx, teamID))
}

// PutEscalation replaces a team's whole policy and returns it as it is now; one with no levels clears it.
func (c *Client) PutEscalation(ctx context.Context, teamID int64, policy EscalationPolicy) (*EscalationPolicy, error) {
	if policy.Levels == nil {
		policy.Levels = []EscalationLevel{} // null is not a list
	}
	return object[EscalationPolicy](c.raw.PutEscalation(ctx, teamID, policy))
}
