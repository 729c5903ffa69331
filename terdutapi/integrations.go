package terdutapi

import (
	"context"
	"fmt"
)

// KindAlertmanager is the one kind of integration that servers have today.
const KindAlertmanager = "alertmanager"

// ListIntegrations returns a team's integrations, without their keys and URLs.
func (c *Client) ListIntegrations(ctx context.Context, teamID int64) ([]Integration, error) {
	return array[Integration](c.raw.ListIntegrations(ctx, teamID))
}

// CreateIntegration makes an integration and returns it with key and URL, which are never shown again;
// ErrConflict when the name is taken on this team. A chosen req.Key is honoured only by servers that can;
// compare it with the key of the result. URL may be a path below the server's address.
func (c *Client) CreateIntegration(
	ctx context.Context, teamID int64, req CreateIntegrationRequest,
) (*CreatedIntegration, error) {
	return object[CreatedIntegration](c.raw.CreateIntegration(ctx, teamID, req))
}

// RenameIntegration renames an integration and returns it as it is now; key and URL stay.
func (c *Client) RenameIntegration(ctx context.Context, teamID, integrationID int64, name string) (*Integration, error) {
	return object[Integration](c.raw.RenameIntegration(ctx, teamID, integrationID, RenameIntegrationRequest{Name: name}))
}

// DeleteIntegration deletes an integration; its key stops working at once.
func (c *Client) DeleteIntegration(ctx context.Context, teamID, integrationID int64) error {
	return nothing(c.raw.DeleteIntegration(ctx, teamID, integrationID))
}

// SendAlerts posts an Alertmanager webhook with an integration's key, as Alertmanager would. It sends no API key.
func (c *Client) SendAlerts(ctx context.Context, integrationKey string, webhook AlertmanagerWebhook) error {
	// "." and ".." would be resolved away: a name is always one segment of a path.
	if integrationKey == "" || integrationKey == "." || integrationKey == ".." {
		return fmt.Errorf("send alerts: %w: not an integration's key", ErrBadArgument)
	}
	return anything(c.raw.ReceiveAlertmanager(ctx, integrationKey, webhook))
}
