package terdutapi

import "context"

// ListDeadmanSwitches returns a team's dead man's switches.
func (c *Client) ListDeadmanSwitches(ctx context.Context, teamID int64) ([]DeadmanSwitch, error) {
	return array[DeadmanSwitch](c.raw.ListDeadmanSwitches(ctx, teamID))
}

// CreateDeadmanSwitch makes a switch; ErrConflict when the name is taken on this team. There is no update.
func (c *Client) CreateDeadmanSwitch(ctx context.Context, teamID int64, req DeadmanSwitchRequest) (*DeadmanSwitch, error) {
	return object[DeadmanSwitch](c.raw.CreateDeadmanSwitch(ctx, teamID, req))
}

// DeleteDeadmanSwitch deletes a switch.
func (c *Client) DeleteDeadmanSwitch(ctx context.Context, teamID, switchID int64) error {
	return nothing(c.raw.DeleteDeadmanSwitch(ctx, teamID, switchID))
}
