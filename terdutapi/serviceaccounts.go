package terdutapi

import (
	"context"
	"fmt"
)

// ListServiceAccounts returns all service accounts. Like every method of this file it is ErrRouteMissing where
// the server has no service accounts.
func (c *Client) ListServiceAccounts(ctx context.Context) ([]ServiceAccount, error) {
	return array[ServiceAccount](c.raw.ListServiceAccounts(ctx, nil))
}

// FindServiceAccount returns the account of that exact name, or nil when a proper answer shows that there is none.
func (c *Client) FindServiceAccount(ctx context.Context, name string) (*ServiceAccount, error) {
	if name == "" {
		return nil, fmt.Errorf("find service account: %w: the name is empty", ErrBadArgument)
	}
	accounts, err := array[ServiceAccount](c.raw.ListServiceAccounts(ctx, &ListServiceAccountsParams{Name: &name}))
	if err != nil {
		return nil, err
	}
	for i := range accounts {
		if accounts[i].Name == name {
			return &accounts[i], nil
		}
	}
	return nil, nil
}

// CreateServiceAccount makes an account with its first key, which is never shown again; ErrConflict when the name
// is taken. With a TeamID the account reaches that team only.
func (c *Client) CreateServiceAccount(ctx context.Context, req CreateServiceAccountRequest) (*CreatedServiceAccount, error) {
	return object[CreatedServiceAccount](c.raw.CreateServiceAccount(ctx, req))
}

// DeleteServiceAccount deletes an account and its keys.
func (c *Client) DeleteServiceAccount(ctx context.Context, accountID int64) error {
	return nothing(c.raw.DeleteServiceAccount(ctx, accountID))
}

// ListServiceAccountKeys returns what is known of an account's keys, never the keys.
func (c *Client) ListServiceAccountKeys(ctx context.Context, accountID int64) ([]ServiceAccountKey, error) {
	return array[ServiceAccountKey](c.raw.ListServiceAccountKeys(ctx, accountID))
}

// CreateServiceAccountKey makes one more key for an account and returns it; it is never shown again.
func (c *Client) CreateServiceAccountKey(
	ctx context.Context, accountID int64, req CreateKeyRequest,
) (*CreatedServiceAccountKey, error) {
	return object[CreatedServiceAccountKey](c.raw.CreateServiceAccountKey(ctx, accountID, req))
}

// DeleteServiceAccountKey revokes a key at once.
func (c *Client) DeleteServiceAccountKey(ctx context.Context, accountID, keyID int64) error {
	return nothing(c.raw.DeleteServiceAccountKey(ctx, accountID, keyID))
}
