package terdutapi

import "context"

// Health returns nil when the server says that it is up. It sends no key.
func (c *Client) Health(ctx context.Context) error {
	return anything(c.raw.GetHealth(ctx))
}

// Version returns the server's version and capabilities; ErrRouteMissing where the server cannot tell.
func (c *Client) Version(ctx context.Context) (*Version, error) {
	return object[Version](c.raw.GetVersion(ctx))
}

// Me returns who the key belongs to; ErrRouteMissing from servers before v0.10.2.
func (c *Client) Me(ctx context.Context) (*Me, error) {
	return object[Me](c.raw.GetMe(ctx))
}

// Bootstrap makes the first user of a fresh install and returns its admin key, which is never shown again. Once
// any user exists it is ErrForbidden for everybody. It sends no key. A chosen req.Key is honoured only by
// servers that can; compare it with the key of the result.
func (c *Client) Bootstrap(ctx context.Context, req BootstrapRequest) (*BootstrapResult, error) {
	return object[BootstrapResult](c.raw.Bootstrap(ctx, req))
}
