package transitions_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// dear is how many writes, to the API server and to the server, a spec that cannot
// be carried out may cost at most.
const dear = 25

// trial is an object that is led astray and back, again and again, and an equal
// one that is left alone.
type trial struct {
	world, twin *world
	// most are the most writes that one wrong spec has cost.
	most int
}

// errWedged is said of what does not come back.
var errWedged = errors.New("wedged")

// astray gives the object the spec, and waits for the condition.
func (t *trial) astray(ctx context.Context, c wrong, want string, give func(context.Context, fields) error) error {
	w := t.world
	before, writes := "", w.writes()
	var err error
	if before, err = w.beside(ctx); err != nil {
		return err
	}
	if err = give(ctx, c.spec); err != nil {
		return err
	}
	if err = w.says(ctx, want); err != nil {
		return fmt.Errorf("wait for %s: %w", want, err)
	}
	if err = w.calm(ctx); err != nil {
		return err
	}
	cost := w.writes() - writes
	if t.most = max(t.most, cost); cost > dear {
		return fmt.Errorf("it costs %d writes, more than %d", cost, dear)
	}
	if err = w.readyFor(ctx, c, want); err != nil {
		return err
	}
	after, err := w.beside(ctx)
	if err == nil && after != before {
		err = fmt.Errorf("its neighbours were\n    %s\n    and are\n    %s", before, after)
	}
	return err
}

// readyFor tells whether the object is ready exactly where it should be, and says
// why not in words where it is not.
func (w *world) readyFor(ctx context.Context, c wrong, want string) error {
	object := w.object(fields{})
	if err := seen.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return err
	}
	status, reason, message := readiness(object)
	if fit := want == v1alpha1.ReasonReady || c.beside; fit != (status == "True") || !fit && message == "" {
		return fmt.Errorf("it is ready %s for %s: %s", status, reason, message)
	}
	return nil
}

// alike waits until two worlds show the same, but for what a server tells of its
// tenants: that it writes once a minute at most.
func alike(ctx context.Context, got, want *world) error {
	counts := func(line string) bool {
		return got.kind != "TerdutServer" && strings.HasPrefix(line, "platform TerdutServer terdut / status / ")
	}
	agreed, since := int64(-1), time.Now()
	return until(ctx, func() string {
		a, b, open := outcomes(ctx, got, want)
		if open != "" {
			return open
		}
		now := life(got, want)
		if d := difference(slices.DeleteFunc(b, counts), slices.DeleteFunc(a, counts)); d != "" {
			agreed = -1
			return d
		}
		if agreed != now {
			agreed, since = now, time.Now()
		}
		if time.Since(since) < quiet {
			return "they agree, and were not at rest for long"
		}
		return ""
	}, got, want)
}

// try leads the object astray and back, deletes it when it is astray, creates it
// so, and leads it back.
func (t *trial) try(ctx context.Context, c wrong) error {
	if err := alike(ctx, t.world, t.twin); err != nil {
		return fmt.Errorf("before: %w", err)
	}
	err := t.astray(ctx, c, c.reason, t.world.change)
	if neverChanges(err) {
		return t.born(ctx, c, true)
	} else if err != nil {
		return fmt.Errorf("changed: %w", err)
	}
	if err = t.world.change(ctx, c.start); err != nil {
		return fmt.Errorf("the way back: %w", err)
	}
	if err = alike(ctx, t.world, t.twin); err != nil {
		return fmt.Errorf("%w: the way back leads elsewhere: %w", errWedged, err)
	}
	if err = t.astray(ctx, c, c.reason, t.world.change); err != nil {
		return fmt.Errorf("changed again: %w", err)
	}
	return t.born(ctx, c, false)
}

// born deletes the object, creates it with the wrong spec, and gives it the right
// one, or creates it with that if a field never changes.
func (t *trial) born(ctx context.Context, c wrong, never bool) error {
	if err := t.remove(ctx); err != nil {
		return err
	}
	if c.kind == "TerdutServer" {
		// What was on the server is still there, and the key to it went with the object.
		w, err := newWorld(ctx, c.kind, c.base, "platform")
		if err != nil {
			return err
		}
		if err = w.crowd(ctx); err != nil {
			return err
		}
		t.world = w
	}
	t.world.generation = 0
	create := func(ctx context.Context, spec fields) error { return env.Admin.Create(ctx, t.world.object(spec)) }
	if err := t.astray(ctx, c, c.created, create); err != nil {
		return fmt.Errorf("created: %w", err)
	}
	back := t.world.change
	if never {
		if err := t.remove(ctx); err != nil {
			return err
		}
		back = create
	}
	if err := back(ctx, c.start); err != nil {
		return fmt.Errorf("the way back from what was created so: %w", err)
	}
	if err := alike(ctx, t.world, t.twin); err != nil {
		return fmt.Errorf("%w: the way back from what was created so leads elsewhere: %w", errWedged, err)
	}
	return nil
}

// remove deletes the object and waits until it is gone.
func (t *trial) remove(ctx context.Context) error {
	object := t.world.object(fields{})
	if err := env.Admin.Delete(ctx, object); err != nil {
		return fmt.Errorf("delete it: %w", err)
	}
	err := until(ctx, func() string {
		if err := seen.Get(ctx, client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
			_, reason, message := readiness(object)
			return fmt.Sprintf("it is still there: %s: %s", reason, message)
		}
		return ""
	})
	if err != nil {
		return fmt.Errorf("%w: its deletion does not finish: %w", errWedged, err)
	}
	return nil
}

var _ = Describe("a spec that the schema takes and that makes no sense", func() {
	It("has a named condition, costs few writes, harms nobody, heals and goes", func(ctx SpecContext) {
		only := regexp.MustCompile(os.Getenv("CELLS"))
		all, err := wrongs()
		Expect(err).NotTo(HaveOccurred())
		chosen := slices.DeleteFunc(all, func(c wrong) bool { return !only.MatchString(c.title()) })
		slices.SortStableFunc(chosen, func(a, b wrong) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.base, b.base)) })
		tries := &tally{}
		var most int
		var running sync.WaitGroup
		slots := make(chan struct{}, abreast)
		for _, one := range rows(chosen) {
			running.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				cost := walkRow(ctx, one, tries)
				inputs.Lock()
				defer inputs.Unlock()
				most = max(most, cost)
			})
		}
		running.Wait()
		fmt.Println("most writes of a spec that makes no sense:", most)
		slices.Sort(tries.failures)
		Expect(tries.failures).To(BeEmpty(), "\n"+strings.Join(tries.failures, "\n"))
	})
})

// rows are specs that one object goes through one after another.
func rows(all []wrong) [][]wrong {
	var out [][]wrong
	for _, c := range all {
		last := len(out) - 1
		if last < 0 || len(out[last]) == length || out[last][0].kind != c.kind || out[last][0].base != c.base {
			out, last = append(out, nil), last+1
		}
		out[last] = append(out[last], c)
	}
	return out
}

func walkRow(ctx context.Context, row []wrong, tries *tally) (most int) {
	var t *trial
	for _, c := range row {
		err := error(nil)
		if t == nil {
			t = &trial{}
			if t.world, err = crowded(ctx, c.kind, c.base, c.start); err == nil {
				t.twin, err = crowded(ctx, c.kind, c.base, c.start)
			}
		}
		if err == nil {
			err = t.try(ctx, c)
		}
		tries.count(c.title(), &tries.steps, &tries.passed, err)
		most = max(most, t.most)
		inputs.handle(c, err)
		if err != nil {
			t = nil
		}
	}
	if t != nil { // with what is told once a minute only
		err := until(ctx, func() string { return differ(ctx, t.world, t.twin) })
		tries.count(row[len(row)-1].title()+": and all before it", &tries.steps, &tries.passed, err)
	}
	return most
}
