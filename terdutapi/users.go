package terdutapi

import "context"

// ListUsers returns all users.
func (c *Client) ListUsers(ctx context.Context) ([]User, error) {
	return array[User](c.raw.ListUsers(ctx))
}

// CreateUser makes a user; ErrConflict when the username is taken.
func (c *Client) CreateUser(ctx context.Context, username, email string) (*User, error) {
	return object[User](c.raw.CreateUser(ctx, CreateUserRequest{Username: username, Email: email}))
}

// DeleteUser deletes a user and its keys.
func (c *Client) DeleteUser(ctx context.Context, userID int64) error {
	return nothing(c.raw.DeleteUser(ctx, userID))
}

// SetUserNotify sets the user's ntfy topic; an empty topic means the shared one.
func (c *Client) SetUserNotify(ctx context.Context, userID int64, topic string) error {
	return nothing(c.raw.SetUserNotify(ctx, userID, NotifyRequest{NtfyTopic: topic}))
}

// ListAPIKeys returns what is known of a user's keys, never the keys; ErrRouteMissing where the server cannot.
func (c *Client) ListAPIKeys(ctx context.Context, userID int64) ([]APIKey, error) {
	return array[APIKey](c.raw.ListAPIKeys(ctx, userID))
}

// CreateAPIKey makes a key for a user and returns it; it is never shown again. A chosen req.Key is honoured only
// by servers that can; compare it with the key of the result.
func (c *Client) CreateAPIKey(ctx context.Context, userID int64, req CreateKeyRequest) (*CreatedAPIKey, error) {
	return object[CreatedAPIKey](c.raw.CreateAPIKey(ctx, userID, req))
}

// DeleteAPIKey revokes a key at once.
func (c *Client) DeleteAPIKey(ctx context.Context, userID, keyID int64) error {
	return nothing(c.raw.DeleteAPIKey(ctx, userID, keyID))
}
