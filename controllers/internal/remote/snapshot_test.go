package remote

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// views are all states that the server goes through in a scenario, from before
// it to its end: whatever a snapshot may show.
func (s scenario) views() ([][]Thing[string], error) {
	w := newWorld(s.naming, s.keyed)
	views := [][]Thing[string]{{}}
	w.touch = func(_ string, do func() error) error {
		views = append(views, slices.Clone(w.things))
		return do()
	}
	err := errors.Join(s.begin(w), w.finish())
	return slices.CompactFunc(append(views, slices.Clone(w.things)), slices.Equal), err
}

// TestStaleSnapshot plays every scenario with a snapshot that stays behind, at
// every state that the server was ever in: no effect rests on it, and when it
// is read again all is as if there had been none.
func TestStaleSnapshot(t *testing.T) {
	total := 0
	for _, s := range scenarios() {
		views, err := s.views()
		if err != nil {
			t.Errorf("%s, undisturbed: %v", s.name, err)
			continue
		}
		for i, view := range views {
			total++
			w := newWorld(s.naming, s.keyed)
			if err = s.begin(w); err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
			w.snapshot = append([]Thing[string]{}, view...)
			w.touch = func(what string, do func() error) error {
				if what != "list" && what != "status" && what != "finalizers" && w.last != Fresh {
					w.broken = fmt.Errorf("%s rests on a snapshot", what)
				}
				return do()
			}
			err = w.finish()
			w.snapshot = nil
			if err = errors.Join(err, w.finish(), w.broken, s.check(w)); err != nil {
				t.Errorf("%s, snapshot %d of %d, %+v: %v; log %v", s.name, i, len(views), view, err, w.log)
				break
			}
		}
	}
	t.Logf("%d snapshots over %d scenarios", total, len(scenarios()))
}

// TestGlance: an object at rest costs one look at the snapshot and no fresh
// list; what the snapshot lacks, or shows differently, costs one fresh list and
// no effect where nothing has happened.
func TestGlance(t *testing.T) {
	w := newWorld(Provisional, false)
	exists(w)
	w.mustSettle()
	for name, c := range map[string]struct {
		snapshot []Thing[string]
		lists    int
	}{
		"as it is":     {nil, 1},
		"empty":        {[]Thing[string]{}, 2},
		"another name": {[]Thing[string]{{ID: w.things[0].ID, Name: "Old", CreatedAt: w.things[0].CreatedAt, Body: "one"}}, 2},
		"another body": {[]Thing[string]{{ID: w.things[0].ID, Name: "Alpha", CreatedAt: w.things[0].CreatedAt, Body: "old"}}, 2},
	} {
		lists := 0
		w.snapshot, w.log = c.snapshot, nil
		version := w.version
		w.touch = func(what string, do func() error) error {
			if what == "list" {
				lists++
			}
			return do()
		}
		w.mustSettle()
		if lists != c.lists || len(w.log) > 0 || w.version != version {
			t.Errorf("%s: %d lists, effects %v", name, lists, w.log)
		}
	}
}
