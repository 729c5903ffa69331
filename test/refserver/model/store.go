package model

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Store keeps the state over restarts, and may be shared by several servers. It is the seam for a database. A store
// bounds the time that its methods take.
type Store interface {
	// Load returns the newest state. Where its revision is the known one, State may be left out.
	Load(ctx context.Context, known string) (Snapshot, error)
	// Update hands the newest state to change and keeps what that returns, as one transaction: no other Update, of any
	// server, runs meanwhile. Where change or the store fails nothing is kept, except that the end of a commit whose answer
	// was lost is unknown. An error of change comes back so that errors.As finds it.
	Update(ctx context.Context, change func(state []byte) ([]byte, error)) (revision string, err error)
	// Ping returns nil when Load would succeed.
	Ping(ctx context.Context) error
}

// Snapshot is the state at one time.
type Snapshot struct {
	// Revision names the state; every Update that changes something makes a new one, never used before. Empty means that
	// nothing was kept yet.
	Revision string
	// State is what an Update kept; nil before the first.
	State []byte
}

// Refresh brings the state up to what the store holds: other servers may have changed it. Methods that read see the
// state of the last Refresh or write. Without a store it does nothing.
func (m *Model) Refresh(ctx context.Context) error {
	if m.store == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("load state: %w", err) // the caller left while others were served
	}
	snapshot, err := m.store.Load(ctx, m.revision)
	if err != nil {
		return fmt.Errorf("load state: %w", err)
	}
	if snapshot.Revision == m.revision {
		return nil
	}
	data, err := m.decode(snapshot.State)
	if err != nil {
		return err
	}
	m.data, m.revision = data, snapshot.Revision
	return nil
}

// Ping returns nil when the state can be read.
func (m *Model) Ping(ctx context.Context) error {
	if m.store == nil {
		return nil
	}
	if err := m.store.Ping(ctx); err != nil {
		return fmt.Errorf("reach state: %w", err)
	}
	return nil
}

func (m *Model) decode(state []byte) (Data, error) {
	data := emptyData()
	if state != nil {
		if err := json.Unmarshal(state, &data); err != nil {
			return data, fmt.Errorf("decode state: %w", err)
		}
	}
	m.keepUses(&data)
	return data, nil
}

// keepUses takes over when keys were last used here: that is not worth a transaction, the next one keeps it.
func (m *Model) keepUses(data *Data) {
	used := map[int64]Key{}
	for _, key := range m.data.Keys {
		if key.LastUsedAt != nil {
			used[key.ID] = key
		}
	}
	for i := range data.Keys {
		key := &data.Keys[i]
		known, ok := used[key.ID]
		// The hash tells a key from another one that got its id in an emptied database.
		if ok && bytes.Equal(known.Hash, key.Hash) && (key.LastUsedAt == nil || key.LastUsedAt.Before(*known.LastUsedAt)) {
			key.LastUsedAt = known.LastUsedAt
		}
	}
}

// update runs f on the newest state of the store, and takes the result over when it is kept.
func (m *Model) update(f func(d *Data, now time.Time) error) error {
	var data Data
	revision, err := m.store.Update(context.Background(), func(state []byte) ([]byte, error) {
		var err error
		if data, err = m.decode(state); err != nil {
			return nil, err
		}
		if err = f(&data, m.now().UTC()); err != nil {
			return nil, err
		}
		next, err := json.Marshal(data)
		if err != nil {
			return nil, fmt.Errorf("encode state: %w", err)
		}
		return next, nil
	})
	if err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	m.data, m.revision = data, revision
	return nil
}
