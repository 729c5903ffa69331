package connect

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// firstPause is the pause before the first probe.
const firstPause = 100 * time.Millisecond

// probe asks a server that does not answer, one question at a time, until it
// does, and wakes what waits for it. Its pauses grow up to the limit.
func (s *Sessions) probe(one *session, about *v1alpha1.TerdutServer) {
	s.changes.ring(one.life, about)
	told := false
	for pause := firstPause; one.rest(pause); pause = min(2*pause, one.limits.ProbePause) {
		if one.answers() {
			s.changes.ring(one.life, about)
			s.wakes.ring(one.life, about)
			return
		}
		if !told && one.gate.long() {
			told = true
			s.wakes.ring(one.life, about)
		}
	}
}

// rest waits, give or take a tenth, and tells whether the session still lives.
func (one *session) rest(pause time.Duration) bool {
	timer := time.NewTimer(pause - pause/10 + rand.N(pause/5+1)) //nolint:gosec // jitter, not a secret
	defer timer.Stop()
	select {
	case <-timer.C:
		return one.life.Err() == nil
	case <-one.life.Done():
		return false
	}
}

// answers asks whether the server is up and answers what everybody asks it. If
// so, calls pass again and every list is read anew: the server may have come
// back as another one.
func (one *session) answers() bool {
	ctx, cancel := context.WithTimeout(one.life, one.limits.Call)
	defer cancel()
	// A server that has no such route, or does not accept the key, is there.
	err := one.api.Health(ctx)
	if !counts(err, true) {
		_, err = one.api.ListTeams(ctx)
	}
	if counts(err, true) {
		_ = one.gate.observe(err, true) // what is wrong now is what is told
		return false
	}
	one.forgetAll()
	one.gate.open()
	return true
}

// bell tells everybody who listens of a server. It is safe for concurrent use.
type bell struct {
	mu        sync.Mutex
	listeners []chan event.GenericEvent
}

// listen makes a listener, before the first ring. It is read until the process
// ends.
func (b *bell) listen() <-chan event.GenericEvent {
	heard := make(chan event.GenericEvent, 64)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listeners = append(b.listeners, heard)
	return heard
}

// ring tells all of them, unless the session ends first.
func (b *bell) ring(life context.Context, about *v1alpha1.TerdutServer) {
	b.mu.Lock()
	listeners := b.listeners
	b.mu.Unlock()
	for _, one := range listeners {
		select {
		case one <- event.GenericEvent{Object: about}:
		case <-life.Done():
			return
		}
	}
}

// Wakes tells of a TerdutServer when what lives on it has to be looked at: its
// outage has become one that is told, or is over. Each listener gets all.
func (s *Sessions) Wakes() <-chan event.GenericEvent { return s.wakes.listen() }

// Silent tells whether a server is known not to answer.
func (s *Sessions) Silent(uid types.UID) bool {
	s.mu.Lock()
	one, ok := s.open[uid]
	s.mu.Unlock()
	var outage *Outage
	return ok && errors.As(one.gate.check(), &outage)
}

// Changes tells of a TerdutServer when an outage begins and when it ends. Each
// listener gets all.
func (s *Sessions) Changes() <-chan event.GenericEvent { return s.changes.listen() }
