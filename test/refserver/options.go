// Package refserver is a stand-in for terdut-server, whose binary and source are not at hand. It implements
// openapi/terdut.yaml with the behaviour that is known or assumed of the real one, so that the operator, its tests and
// its demo have a server to talk to. That both sides come from one document proves nothing about the real wire:
// docs/wire-assumptions.md lists what is assumed.
package refserver

import (
	"context"
	"strings"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
)

// DefaultVersion is what GET /api/version says.
const DefaultVersion = "v0.11.0-refserver"

// Options configure a server. The zero value is a server with every capability, the system's clock, memory for
// state, and validation of all traffic.
type Options struct {
	// Settings are the rules of the model. IntegrationKinds defaults to alertmanager.
	Settings model.Settings
	// Capabilities are the optional parts on offer; nil means all.
	Capabilities *Capabilities
	// Version is what GET /api/version says; empty means DefaultVersion.
	Version string
	// BaseURL is the public address before an integration's url; empty makes the url a path.
	BaseURL string
	// Clock tells the time; nil means time.Now.
	Clock func() time.Time
	// Notifier delivers pages; nil delivers to nobody and calls that a success.
	Notifier Notifier
	// Store keeps the state over restarts; nil keeps it in memory. A request that changes something is answered when the
	// store has it. While the store fails requests answer 500 and /healthz 503.
	Store model.Store
	// SkipValidation turns off the comparison of all traffic with the OpenAPI document.
	SkipValidation bool
	// Fault disturbs requests; nil disturbs none. SetFault changes it later.
	Fault FaultFunc
	// Latency is added before every request; 0 adds none.
	Latency time.Duration
	// KeepRequests bounds the record of requests; 0 means 100000, the oldest go first.
	KeepRequests int
}

// Notifier delivers one page.
type Notifier interface {
	Notify(ctx context.Context, page model.Page) error
}

// Capabilities are the parts that not every terdut-server has. A route that is off answers the plain-text 404 of an
// older server.
type Capabilities struct {
	ServiceAccounts bool // /api/service-accounts
	Version         bool // /api/version
	Me              bool // /api/me
	ChosenKeys      bool // a key chosen by the caller is used; otherwise it is ignored
	ListKeys        bool // GET of a user's or an account's keys
	CreatedAt       bool // created_at on teams, switches and integrations
}

// AllCapabilities has everything on.
func AllCapabilities() Capabilities {
	return Capabilities{
		ServiceAccounts: true, Version: true, Me: true, ChosenKeys: true, ListKeys: true, CreatedAt: true,
	}
}

// byName gives the names that GET /api/version and the environment use.
func (c *Capabilities) byName() []struct {
	name string
	on   *bool
} {
	return []struct {
		name string
		on   *bool
	}{
		{"service-accounts", &c.ServiceAccounts},
		{"version", &c.Version},
		{"me", &c.Me},
		{"chosen-keys", &c.ChosenKeys},
		{"list-keys", &c.ListKeys},
		{"created-at", &c.CreatedAt},
	}
}

// Names lists what is on.
func (c Capabilities) Names() []string {
	names := []string{}
	for _, part := range c.byName() {
		if *part.on {
			names = append(names, part.name)
		}
	}
	return names
}

// TurnOff turns one capability off by its name and reports whether there is one.
func (c *Capabilities) TurnOff(name string) bool {
	for _, part := range c.byName() {
		if part.name == name {
			*part.on = false
			return true
		}
	}
	return false
}

// hides reports whether a route ("GET /api/teams") is one that this server does not have.
func (c Capabilities) hides(route string) bool {
	method, path, _ := strings.Cut(route, " ")
	switch {
	case strings.HasPrefix(path, "/api/service-accounts") && !c.ServiceAccounts,
		path == "/api/version" && !c.Version,
		path == "/api/me" && !c.Me:
		return true
	case c.ListKeys || method != "GET":
		return false
	}
	return strings.HasSuffix(path, "/api-keys") || strings.HasSuffix(path, "/keys")
}
