package transitions_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fresh makes each spec once in a world of its own, and keeps it.
type fresh struct {
	mu    sync.Mutex
	known map[string]func() (*world, error)
}

// refusal is what the API server says to a spec that it does not take.
type refusal struct{ error }

func (f *fresh) of(ctx context.Context, kind, base string, spec fields) (*world, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := kind + base + canonical(spec)
	if f.known == nil {
		f.known = map[string]func() (*world, error){}
	}
	if f.known[key] == nil {
		f.known[key] = sync.OnceValues(func() (*world, error) { return born(ctx, kind, base, spec, unnamed(spec)...) })
	}
	made := f.known[key]
	f.mu.Unlock()
	defer f.mu.Lock()
	return made()
}

// unnamed are the Secrets that neither a spec nor that of a plain server names: a
// world whose object does not change can do without them.
func unnamed(spec fields) []string {
	named := canonical(spec) + canonical(plain)
	return slices.DeleteFunc([]string{"db", "db2", "ca", "ca2", "ntfy", "ntfy2", "sso", "sso2"}, func(name string) bool {
		return strings.Contains(named, `"`+name+`"`)
	})
}

// born is a world whose object was created with the spec. A spec that is refused
// costs no world.
func born(ctx context.Context, kind, base string, spec fields, leaveOut ...string) (*world, error) {
	nowhere := &world{kind: kind, base: base, platform: "default", tenant: "default"}
	if err := env.Admin.Create(ctx, nowhere.object(spec), client.DryRunAll); err != nil {
		if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			return nil, refusal{err}
		}
		return nil, fmt.Errorf("try a spec: %w", err)
	}
	w, err := newWorld(ctx, kind, base, leaveOut...)
	if err != nil {
		return nil, fmt.Errorf("make a world: %w", err)
	}
	return w, env.Admin.Create(ctx, w.object(spec))
}

// lane changes one living object again and again.
type lane struct {
	kind, base string
	fresh      *fresh
	world      *world
	// at is the spec that the world has come to rest with; empty when it has not.
	at string
	// wrote is told how many writes a change led to.
	wrote func(writes int)
}

// begin brings the object to the start of a group. A new one is made when there is
// none, or when what became of the last one was wrong.
func (l *lane) begin(ctx context.Context, start fields) (*world, error) {
	want, err := l.fresh.of(ctx, l.kind, l.base, start)
	if err != nil {
		return nil, fmt.Errorf("create it with the values before: %w", err)
	}
	switch {
	case l.world != nil && l.at == canonical(start):
		return want, nil
	case l.world == nil:
		if l.world, err = born(ctx, l.kind, l.base, start); err != nil {
			return nil, fmt.Errorf("create it with the values before: %w", err)
		}
	default:
		if err = l.change(ctx, start); err != nil {
			return nil, fmt.Errorf("go to the values before: %w", err)
		}
	}
	if err = l.rest(ctx, start, want); err != nil {
		return nil, fmt.Errorf("before the change: %w", err)
	}
	return want, nil
}

// change gives the object another spec.
func (l *lane) change(ctx context.Context, spec fields) error {
	l.at = ""
	return l.world.change(ctx, spec)
}

// back takes the object back to where a group starts.
func (l *lane) back(ctx context.Context, g group, start *world) error {
	if err := l.change(ctx, g.start); err != nil {
		return fmt.Errorf("go back: %w", err)
	}
	if err := l.rest(ctx, g.start, start); err != nil {
		return fmt.Errorf("the way back leads elsewhere: %w", err)
	}
	return nil
}

// step makes one change and takes it back.
func (l *lane) step(ctx context.Context, g group, c change) error {
	start, err := l.begin(ctx, g.start)
	if err != nil {
		return err
	}
	want, freshErr := l.fresh.of(ctx, l.kind, l.base, c.spec)
	var refused refusal
	if freshErr != nil && !errors.As(freshErr, &refused) {
		return freshErr
	}
	before := l.world.writes()
	err = l.change(ctx, c.spec)
	switch {
	case apierrors.IsInvalid(err) && (freshErr != nil || strings.Contains(err.Error(), "is immutable")):
		return l.rest(ctx, g.start, start) // refused either way; nothing may have happened
	case err != nil:
		return fmt.Errorf("an update is refused that a create is not: %w", err)
	case freshErr != nil:
		l.world = nil
		return fmt.Errorf("an update is taken that a create is not: %w", freshErr)
	}
	if err = l.arrive(ctx, g, c, start, want); err != nil {
		l.world = nil
		return fmt.Errorf("reached by a change and created differ: %w", err)
	}
	writes := l.world.writes() - before
	if l.wrote(writes); writes > mostWrites {
		return fmt.Errorf("it took %d writes", writes)
	}
	return l.back(ctx, g, start)
}

// rest waits until the object with a spec has become what it should be. One that
// does not is left alone from then on.
func (l *lane) rest(ctx context.Context, spec fields, want *world) error {
	err := same(ctx, l.world, want)
	if err != nil {
		l.world = nil
		return err
	}
	l.at = canonical(spec)
	return nil
}

// arrive waits for the answer to a change.
func (l *lane) arrive(ctx context.Context, g group, c change, start, want *world) error {
	if reason, unfit := g.sample.Unfit[c.name]; unfit {
		for _, w := range []*world{want, l.world} {
			if err := w.says(ctx, reason); err != nil {
				return err
			}
		}
		return l.untouched(ctx, start)
	}
	if g.sample.lasts(c.name) {
		return until(ctx, func() string { return l.world.seenNow(ctx) }, l.world)
	}
	return same(ctx, l.world, want)
}

// untouched tells what else than statuses differs after a change that the
// conditions refuse.
func (l *lane) untouched(ctx context.Context, start *world) error {
	now, err := l.world.outcome(ctx)
	if err != nil {
		return err
	}
	before, err := start.outcome(ctx)
	if err != nil {
		return err
	}
	status := func(line string) bool { return strings.Contains(line, " / status / ") }
	if d := difference(slices.DeleteFunc(slices.Clone(before), status), slices.DeleteFunc(slices.Clone(now), status)); d != "" {
		return fmt.Errorf("the conditions refuse it, and something happened: %s", d)
	}
	return nil
}

// acts tells whether some step of the group shows anywhere. The worlds have come
// to rest: the lane has been compared with them.
func acts(ctx context.Context, f *fresh, g group) (bool, error) {
	start, err := f.of(ctx, g.kind, g.base, g.start)
	if err != nil {
		return false, err
	}
	var others []*world
	for _, c := range g.steps {
		other, refused := f.of(ctx, g.kind, g.base, c.spec)
		if refused != nil {
			continue
		}
		others = append(others, other)
		if c.name == "change" || c.name == "push" {
			break // these say the most; what follows may differ by being absent only
		}
	}
	if len(others) == 0 {
		return g.sample.Inert == "", nil // it cannot be otherwise, and the API server says so
	}
	shows := func(d string) bool { return strings.HasPrefix(d, "-") }
	if g.sample.Inert != "" {
		shows = func(d string) bool { return d == "" }
	}
	err = until(ctx, func() string {
		for _, other := range others {
			if shows(differ(ctx, other, start)) {
				return ""
			}
		}
		return "no step does"
	}, append(others, start)...)
	return (err == nil) == (g.sample.Inert == ""), nil
}
