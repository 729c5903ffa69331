package faults

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"git.ryuvia.com/niklas/terdut-operator/test/faults/inject"
)

// play plays a scenario with faults. In memory it must be called in a bubble of
// testing/synctest.
func (s Scenario) play(faults ...inject.Fault) (r *Run, err error) {
	r, err = s.begin()
	if err != nil {
		return nil, err
	}
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("6 clean: panic: %v", reason)
		}
		if err != nil {
			_ = r.Stop() // what went wrong before counts
		}
	}()
	for _, step := range s.Before {
		if err = step(r); err == nil {
			err = r.Settle()
		}
		if err != nil {
			return r, fmt.Errorf("prepare: %w", err)
		}
	}
	r.Injector.Arm(faults...)
	r.watch.forget()
	for i, step := range s.Steps {
		r.Injector.Step()
		if err = step(r); err == nil {
			err = r.Settle()
		}
		if err != nil {
			return r, fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	if err = r.meet(); err != nil {
		return r, fmt.Errorf("afterwards: %w", err)
	}
	return r, nil
}

// meet waits for faults that have met nothing yet: a question that is asked at a
// resync only may be still to come.
func (r *Run) meet() error {
	for range 2 {
		if r.Injector.Fired() {
			return nil
		}
		if err := r.Settle(); err != nil {
			return err
		}
	}
	return nil
}

// judge is what the oracles say, and the end that the scenario expects.
func (s Scenario) judge(r *Run, ref *reference, faults int) Verdict {
	v := r.oracles(ref, faults)
	if s.Ends != nil {
		if err := s.Ends(r); err != nil {
			v.Wrong = append(v.Wrong, "1 final state: "+err.Error())
		}
	}
	return v
}

// refer plays a scenario undisturbed.
func (s Scenario) refer() (*reference, Verdict, error) {
	r, err := s.play()
	if err != nil {
		return nil, Verdict{}, err
	}
	ref := &reference{
		state: r.state(), foreign: r.strays(),
		effects: r.Injector.Effects(), refused: r.Injector.Refused(), changes: r.Injector.Changes(), reads: r.Injector.Reads(),
	}
	ref.written, _ = r.watch.told()
	if !s.Orphans {
		ref.foreign = nil
	}
	verdict := s.judge(r, ref, 0)
	return ref, verdict, r.Stop()
}

// tell plays a scenario with faults, judges it, and tells what happened.
func (s Scenario) tell(ref *reference, faults ...inject.Fault) (Verdict, string) {
	r, err := s.play(faults...)
	if err != nil {
		return Verdict{Wrong: []string{err.Error()}, Fired: true}, storyOf(r)
	}
	story := r.story()
	v := s.judge(r, ref, excused(faults))
	v.note(r)
	s.forgive(r, &v, faults)
	if err := r.Stop(); err != nil {
		v.Wrong = append(v.Wrong, err.Error())
	}
	return v, story
}

func storyOf(r *Run) string {
	if r == nil {
		return ""
	}
	return r.story()
}

// note adds what a run in memory knows of itself.
func (v *Verdict) note(r *Run) {
	if l, ok := r.Engine.(*loop); ok {
		v.Misled, v.Passes = l.sight.wrong, l.most
	}
}

// excused is how many writes more than in the reference there may be.
func excused(faults []inject.Fault) (n int) {
	for _, f := range faults {
		if f.Mode.Excuses() {
			n++
		}
	}
	return n
}

// forgive takes the complaints away of a run that met a declared loss and says
// so itself: the fault was at the right place, and the reason stands in the
// final state. What must never happen is not forgiven.
func (s Scenario) forgive(r *Run, v *Verdict, faults []inject.Fault) {
	for _, allowance := range s.Allowed {
		at := allowance.met(faults)
		if at < 0 || !strings.Contains(strings.Join(r.state(), "\n")+"\n", "reason = "+allowance.Reason+"\n") {
			continue
		}
		v.Allowed = append(v.Allowed, fmt.Sprintf("%s after %s: %s", allowance.Reason, faults[at], allowance.Why))
		v.Wrong = slices.DeleteFunc(v.Wrong, func(w string) bool {
			return strings.HasPrefix(w, "1 ") || strings.HasPrefix(w, "2 ")
		})
		return
	}
}

// met is which of the faults of a run is one of an allowance; -1 for none.
func (a Allowance) met(faults []inject.Fault) int {
	for i, f := range faults {
		crashes := i+1 < len(faults) && slices.Contains([]inject.Mode{inject.CrashBefore, inject.CrashAfter}, faults[i+1].Mode)
		if listed(a.At, f, i) || crashes && listed(a.BeforeCrash, f, i) {
			return i
		}
	}
	return -1
}

// listed finds a fault. Each of those before it may have had the same write made
// once more already.
func listed(list []inject.Fault, f inject.Fault, before int) bool {
	what, number, _ := strings.Cut(f.Label, "#")
	n, err := strconv.Atoi(number)
	for m := n; err == nil && m >= n-before; m-- {
		if slices.Contains(list, inject.Fault{Label: what + "#" + strconv.Itoa(m), Mode: f.Mode}) {
			return true
		}
	}
	return false
}

// repro is the line that repeats one run alone.
func (s Scenario) repro(p plan) string {
	return fmt.Sprintf("SCENARIO=%q FAULTS=%q go test -count=1 ./test/faults -run Campaign -v", s.Name, p)
}
