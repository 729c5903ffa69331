package faults_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"git.ryuvia.com/niklas/terdut-operator/test/faults/replay"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/world"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
)

const (
	suite = "faults-replay"
	// patience is how long controllers of Kubernetes may take.
	patience = 60 * time.Second
	poll     = 50 * time.Millisecond
)

// declared are requests that the world answers differently on purpose, and why
// no fault campaign rests on it. The code is the same.
var declared = map[string]string{
	"apply of the same custom resource":       "the API server stores a new object without the defaults of its status, and with them at the next write of anybody",
	"apply of a spec with a status beside it": "the API server counts it as a write; the operator applies no custom resource, only statuses",
}

// TestReplay plays one list of requests, faults included, on the world and on a
// real API server, and compares the answers.
func TestReplay(t *testing.T) {
	if err := figures.Start(suite); err != nil {
		t.Fatal(err)
	}
	want, got := onRealServer(t), onWorld(t)
	if len(want) != len(got) {
		t.Fatalf("%d answers of the API server, %d of the world", len(want), len(got))
	}
	equal, differs := 0, 0
	for i := range want {
		if want[i].String() == got[i].String() {
			equal++
			continue
		}
		if why, ok := declared[want[i].Request]; ok && want[i].Code == got[i].Code {
			differs++
			t.Logf("declared: %s: %s", want[i].Request, why)
			continue
		}
		t.Errorf("the API server: %s\n\t     the world: %s", want[i], got[i])
	}
	if err := figures.Count(suite, "answers-equal", equal, len(want)); err != nil {
		t.Error(err)
	}
	if err := figures.Value(suite, "answers-declared", differs, ""); err != nil {
		t.Error(err)
	}
}

func onRealServer(t *testing.T) []replay.Answer {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	env, err := testenv.StartUnbound(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	player := &replay.Player{Client: env.Admin, Settle: func(gone func() bool) { eventually(t, gone) }}
	return play(t, player)
}

func onWorld(t *testing.T) []replay.Answer {
	t.Helper()
	w, err := world.New()
	if err != nil {
		t.Fatal(err)
	}
	return play(t, &replay.Player{Client: w.Client(w.Live(), nil), Settle: func(func() bool) {
		for w.Step() {
		}
	}})
}

func play(t *testing.T, player *replay.Player) []replay.Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	answers, err := player.Play(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return answers
}

// eventually polls until something is true.
func eventually(t *testing.T, is func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("controllers of Kubernetes have not done what was waited for")
		}
	}
}
