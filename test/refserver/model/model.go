// Package model is the state and the rules of the reference server, without HTTP: what stands on the server, who may
// exist beside whom, and what time does to it. Everything lives in one Data value behind one mutex, and time comes
// from a clock that tests drive. A Store, where there is one, holds the truth; the Data value is then what was last seen.
package model

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Settings are the rules that an operator of the server chooses. The zero value sweeps nothing and watches no
// server-wide switch.
type Settings struct {
	// StaleAfter resolves alerts that were not heard of for so long; 0 never.
	StaleAfter time.Duration
	// ArchiveAfter archives what was resolved so long ago; 0 never.
	ArchiveAfter time.Duration
	// Deadman is the server-wide switch, armed by its first alert; an empty Matcher turns it off.
	Deadman Heartbeat
	// RepeatEvery pages again for an incident that nobody acknowledged, where no policy says otherwise; 0 never.
	RepeatEvery time.Duration
	// FallbackTopic is paged where nobody can be reached.
	FallbackTopic string
	// IntegrationKinds are the kinds that can be created.
	IntegrationKinds []string
	// NormalizeName is applied to names before they are stored; nil keeps them as they are.
	NormalizeName func(string) string
}

// Heartbeat says what must be heard how often.
type Heartbeat struct {
	Matcher  string
	Timeout  time.Duration
	Severity string
}

// Model is the server's state. Its methods are safe for concurrent use; each is one transaction.
type Model struct {
	mu       sync.Mutex
	data     Data
	revision string // of data in the store
	store    Store
	now      func() time.Time
	settings Settings
	issued   []string // see Issued
}

// New returns the state that store holds, or an empty one. A nil store keeps nothing.
func New(settings Settings, now func() time.Time, store Store) (*Model, error) {
	m := &Model{store: store, now: now, settings: settings, data: emptyData()}
	if err := m.Refresh(context.Background()); err != nil {
		return nil, err
	}
	if settings.Deadman.Matcher != "" {
		if _, err := parseMatcher(settings.Deadman.Matcher); err != nil {
			return nil, fmt.Errorf("server-wide dead man's switch: %w", err)
		}
	}
	return m, nil
}

// write runs f as one transaction. f checks everything before it changes anything, so that a refusal changes nothing.
func (m *Model) write(f func(d *Data, now time.Time) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.store == nil {
		return f(&m.data, m.now().UTC())
	}
	return m.update(f)
}

func (m *Model) read(f func(d *Data, now time.Time)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(&m.data, m.now().UTC())
}

func (m *Model) name(s string) string {
	if m.settings.NormalizeName == nil {
		return s
	}
	return m.settings.NormalizeName(s)
}

// Refusal is a request that the rules refuse; Status is the HTTP status that says so.
type Refusal struct {
	Status  int
	Message string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

func refuse(status int, format string, args ...any) error {
	return &Refusal{Status: status, Message: fmt.Sprintf(format, args...)}
}
