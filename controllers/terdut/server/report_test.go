package server

import (
	"testing"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
)

// TestAnOutdatedStatusIsNotBelieved: a pass that wrote a refusal, and one that sees
// the refusal cured and the server as it was before both: what it wants to say
// stands there already, by what it sees, and would never be said.
func TestAnOutdatedStatusIsNotBelieved(t *testing.T) {
	now := noon.Time
	r := &Reconciler{Now: func() time.Time { return now }}
	server := observed(4)
	server.ResourceVersion = "7"
	r.memory.of(server, func(e *remembered) { e.written, e.writtenAt = "10", now })
	if err := r.write(t.Context(), server, server.Status); !apply.IsLookAgain(err) {
		t.Errorf("it was believed: %v", err)
	}
	for _, version := range []string{"10", "11", "no version"} {
		if server.ResourceVersion = version; r.write(t.Context(), server, server.Status) != nil {
			t.Errorf("version %s is not believed", version)
		}
	}
	server.ResourceVersion, now = "7", now.Add(2*cacheLag)
	if err := r.write(t.Context(), server, server.Status); err != nil {
		t.Errorf("a cluster that was restored is never looked at again: %v", err)
	}
}
