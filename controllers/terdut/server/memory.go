package server

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
)

// memory is what the process knows of servers and no object holds. It is safe
// for concurrent use.
type memory struct {
	perServer[remembered]
	// asking counts the bootstrap calls that are under way.
	asking int
}

type remembered struct {
	// accepted is the last key that the server accepted.
	accepted accepted
	// held is a key that is in no Secret: it was handed out just now, or somebody
	// has taken away the Secret that it was in.
	held *answer
	// unheard is true when this process has recorded the attempt to bootstrap
	// and the server cannot have acted on any call since.
	unheard bool
	// counted is when the number of teams was last written.
	counted time.Time
	// claimed is when conditions about claims were last written.
	claimed time.Time
	// postponed is the time before which nothing is tried again that has
	// failed, about the exchange of the key.
	postponed time.Time
	// swept is when this process first looked for keys of ours that an earlier
	// one left behind, and sweptAgain whether it has looked once more since: the
	// earlier one may have been in the middle of a call.
	swept      time.Time
	sweptAgain bool
	// probe is what is known of the server's capabilities.
	probe probe
	// healthy is when an external server last answered GET /healthz.
	healthy time.Time
}

// accepted is one version of the credentials Secret whose key was accepted.
type accepted struct {
	credential
	uid             types.UID
	resourceVersion string
	// generation of the TerdutServer at that time.
	generation   int64
	reason, note string
	at           time.Time
}

// answer is a key that exists nowhere else.
type answer struct {
	// server as it was when it answered: the owner of the Secret to be.
	server *v1alpha1.TerdutServer
	credential
	// reason of Bootstrapped, and the event, once it is written.
	reason string
	event  status.Event
}

// hold keeps a key until it is written; nil keeps none.
func (m *memory) hold(server *v1alpha1.TerdutServer, a *answer) {
	m.of(server, func(e *remembered) { e.held = a })
}

// held is the key that waits to be written for a server, or nil.
func (m *memory) held(server *v1alpha1.TerdutServer) (held *answer) {
	m.of(server, func(e *remembered) { held = e.held })
	return held
}

// accepted is what the server accepted last.
func (m *memory) accepted(server *v1alpha1.TerdutServer) (last accepted) {
	m.of(server, func(e *remembered) { last = e.accepted })
	return last
}

// doubt has the next pass ask about the key, however lately it was accepted.
func (m *memory) doubt(server *v1alpha1.TerdutServer) {
	m.of(server, func(e *remembered) { e.accepted.at = time.Time{} })
}

// begin notes that a bootstrap call is about to be made. The function that it
// returns is called with the answer, or nil.
func (m *memory) begin(server *v1alpha1.TerdutServer) (end func(*answer)) {
	m.mu.Lock()
	m.asking++
	m.mu.Unlock()
	return func(a *answer) {
		if a != nil {
			m.hold(server, a)
		}
		m.mu.Lock()
		m.asking--
		m.mu.Unlock()
	}
}

// outstanding are the keys that are still to be written, and whether a call is
// under way that may bring another one.
func (m *memory) outstanding() (held []*answer, asking bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, entry := range m.servers {
		if entry.is.held != nil {
			held = append(held, entry.is.held)
		}
	}
	return held, m.asking > 0
}
