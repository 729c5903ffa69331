// Package story is what the demo shows, step by step. Every step proves what it claims, on both sides: on the Kubernetes
// objects, and through the server's own API.
package story

import (
	"context"
	"errors"
	"fmt"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/test/demo/screen"
	"git.ryuvia.com/niklas/terdut-operator/test/demo/stage"
)

// step is one part of the story.
type step struct {
	name string
	do   func(context.Context, *world) error
}

// shown are the steps that leave everything running.
func shown() []step {
	return []step{
		{"start a cluster and the operator", setUp},
		{"apply the sample: a server, and a team in another namespace", applySample},
		{"create the user whom the escalation rule names", createUser},
		{"compare Kubernetes with the server", compareSides},
		{"send an alert to the URL that the operator published", sendAlert},
		{"change things by hand, on both sides", drift},
		{"take the server owner's consent away, and give it back", consent},
	}
}

// removal is the step that takes the sample away.
func removal() step { return step{"delete everything", remove} }

// tearDown is the step that ends every process, whatever happened before it.
func tearDown() step {
	return step{"take the cluster down", func(_ context.Context, w *world) error {
		return w.During("operator, node and control plane end", w.Stop)
	}}
}

// Result is how the demo went.
type Result struct {
	// Passed of Total steps did what they should.
	Passed, Total int
	// Err is why the first failing step failed; nil when all passed.
	Err error
	// Clean is true when nothing was left running.
	Clean bool
}

// Tell plays the whole story on an empty stage. With keep it leaves everything running after the last step that does not
// delete, until ctx ends. Whatever happens, nothing is left running afterwards.
func Tell(ctx context.Context, st *stage.Stage, out *screen.Screen, keep bool) Result {
	t := &telling{world: &world{Stage: st, Screen: out}, steps: shown()}
	if !keep {
		t.steps = append(t.steps, removal())
	}
	t.total = len(t.steps) + 1
	for _, s := range t.steps {
		if !t.play(st.Context(), s) {
			break
		}
	}
	if keep && t.err == nil {
		t.world.invite()
		<-st.Context().Done()
		if ctx.Err() == nil {
			t.err = context.Cause(st.Context())
		}
	}
	clean := t.play(context.WithoutCancel(ctx), tearDown())
	result := t.sum()
	result.Clean = clean
	return result
}

// telling is one run.
type telling struct {
	world *world
	steps []step
	total int
	err   error
	rows  [][]string
	began int
	good  int
	spent time.Duration
}

// play plays one step and tells whether it passed.
func (t *telling) play(ctx context.Context, s step) bool {
	t.began++
	number := t.began
	if s.name == tearDown().name {
		number = t.total
	}
	t.world.Step(number, t.total, s.name)
	begin := time.Now()
	err := s.do(ctx, t.world)
	if err != nil && ctx.Err() != nil {
		// What a step says about calls that were cut off is not the reason.
		err = context.Cause(ctx)
	}
	took := time.Since(begin)
	t.spent += took
	outcome := "ok"
	if err != nil {
		outcome = "failed"
		t.world.Line("-- %v", err)
		if t.err == nil {
			t.err = fmt.Errorf("step %d, %s: %w", number, s.name, err)
		}
	} else {
		t.good++
	}
	t.rows = append(t.rows, []string{fmt.Sprint(number), s.name, outcome, seconds(took)})
	return err == nil
}

// sum shows the summary.
func (t *telling) sum() Result {
	t.world.Blank()
	rows := append(t.rows, []string{"", fmt.Sprintf("%d of %d steps", t.good, t.total), "", seconds(t.spent)})
	err := t.world.Table("", []string{"Step", "What", "Result", "Seconds"}, rows)
	return Result{Passed: t.good, Total: t.total, Err: errors.Join(t.err, err)}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()) }
