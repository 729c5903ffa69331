package replay_test

import (
	"testing"

	"git.ryuvia.com/niklas/terdut-operator/test/faults/replay"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/world"
)

// TestPlayOnTheWorld: every request of the list is one that the world
// understands. What it must answer, the real API server says (test/envtest/faults).
func TestPlayOnTheWorld(t *testing.T) {
	w, err := world.New()
	if err != nil {
		t.Fatal(err)
	}
	player := &replay.Player{Client: w.Client(w.Live(), nil), Settle: func(func() bool) {
		for w.Step() {
		}
	}}
	answers, err := player.Play(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range answers {
		if a.Code == 0 && a.Request[:4] != "look" {
			t.Errorf("no answer: %s", a)
		}
		t.Log(a)
	}
}
