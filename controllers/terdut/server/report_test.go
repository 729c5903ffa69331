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
	server.ResourceVersion = "10"
	r.written.Note(server, now)
	server.ResourceVersion = "7"
	if err := r.write(t.Context(), server, server.Status); !apply.IsLookAgain(err) {
		t.Errorf("it was believed: %v", err)
	}
	server.ResourceVersion = "10"
	if err := r.write(t.Context(), server, server.Status); err != nil {
		t.Errorf("what was written is not believed: %v", err)
	}
}
