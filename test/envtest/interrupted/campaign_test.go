package interrupted_test

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/test/faults"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/inject"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/real"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

const (
	// suite is the name under which the figures are published.
	suite = "faults-real"
	// short is up to how many effects a scenario has all runs with one fault;
	// shortInFull is the same with FULL=1.
	short, shortInFull = 4, 10
	// complaints is how many failures of one scenario are shown.
	complaints = 3
	// tries is how often a run is played whose fault has not met its effect: how
	// often a status is written depends on how quickly a cache follows.
	tries = 3
)

// campaign is one of all scenarios on one plane.
type campaign struct {
	*testing.T
	plane *real.Plane
	// seats limit the runs that are played side by side.
	seats chan struct{}

	mu               sync.Mutex
	counts           *faults.Table
	scenarios, equal int
	effects, unmet   int
}

// TestCampaign interrupts scenarios. The environment chooses: SCENARIO, some by
// name, separated by commas; FAULTS, one run of one, as a failure prints it;
// SINGLES and LONG, how many runs with one fault a short and a long scenario
// gets, 0 for all; ABREAST, how many runs are played side by side. Without any a
// small sample is played.
func TestCampaign(t *testing.T) {
	c := &campaign{T: t, plane: start(t), counts: faults.NewTable(), seats: make(chan struct{}, number(t, "ABREAST", 4*runtime.NumCPU()))}
	if only := os.Getenv("FAULTS"); only != "" {
		c.repeat(os.Getenv("SCENARIO"), only)
		return
	}
	if err := figures.Start(suite); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	var all sync.WaitGroup
	for _, s := range chosen(t) {
		if why, ok := inMemoryOnly[s.Name]; ok {
			t.Logf("%s: in memory only: %s", s.Name, why)
			continue
		}
		memory := inMemory(t, s)
		all.Go(func() { c.interrupt(s, memory) })
	}
	all.Wait()
	c.publish(time.Since(begin))
}

func (c *campaign) publish(took time.Duration) {
	if err := c.counts.Print(os.Stdout); err != nil {
		c.Fatal(err)
	}
	for reason, n := range c.counts.Allowed {
		c.Logf("declared allowance %s: %d runs", reason, n)
	}
	all := c.counts.Sum("")
	for _, err := range []error{
		figures.Count(suite, "traces-equal", c.equal, c.scenarios),
		figures.Value(suite, "effects-real", c.effects, ""),
		figures.Count(suite, "crash-points-real", all.Survived, all.Total),
		figures.Value(suite, "crash-points-unmet", c.unmet, ""),
		figures.Value(suite, "campaign-real", int(took.Seconds()), "s"),
	} {
		if err != nil {
			c.Error(err)
		}
	}
}

// interrupt plays one scenario undisturbed, twice, and with faults.
func (c *campaign) interrupt(s faults.Scenario, memory faults.Reference) {
	s = s.On(c.plane.Stage().Begin)
	ref, ok := c.refer(s, memory)
	if !ok {
		return
	}
	plans := faults.Singles(ref.Effects(), inject.Modes())
	some := faults.Sampled(plans, c.most(len(ref.Effects())))
	if len(some) < len(plans) {
		c.Logf("%s: a sample, %d of %d runs", s.Name, len(some), len(plans))
	}
	var all sync.WaitGroup
	wrong := 0
	for _, plan := range some {
		all.Go(func() {
			v, met := c.try(s, ref, plan)
			c.mu.Lock()
			defer c.mu.Unlock()
			if !met && len(v.Wrong) == 0 {
				c.unmet++
				c.Logf("%s: %s never met its effect", s.Name, plan[0])
				return
			}
			c.counts.Count(s.Name, plan[0].Mode.String(), len(v.Wrong) == 0)
			for _, reason := range v.Allowed {
				c.counts.Allowed[reason]++
			}
			if len(v.Wrong) == 0 {
				return
			}
			if wrong++; wrong <= complaints {
				c.Errorf("%s\n\t%s", repro(s, plan), strings.Join(v.Wrong, "\n\t"))
			} else {
				c.Fail()
			}
		})
	}
	all.Wait()
	if wrong > complaints {
		c.Errorf("%s: %d runs more failed", s.Name, wrong-complaints)
	}
}

// most is how many runs with one fault a scenario with so many effects gets; 0
// is all.
func (c *campaign) most(effects int) int {
	upTo := short
	if os.Getenv("FULL") != "" {
		upTo = shortInFull
	}
	if effects <= upTo {
		return number(c.T, "SINGLES", sample)
	}
	return number(c.T, "LONG", sample)
}

// refer plays a scenario twice, undisturbed: what differs then would be mistaken
// for a fault's doing.
func (c *campaign) refer(s faults.Scenario, memory faults.Reference) (ref faults.Reference, ok bool) {
	var v faults.Verdict
	var err error
	c.seated(func() { ref, v, err = s.Refer() })
	if err == nil && len(v.Wrong) == 0 {
		c.seated(func() { v, _ = s.Try(ref) })
	}
	if err != nil || len(v.Wrong) > 0 {
		c.Errorf("%s, undisturbed: %v\n\t%s", s.Name, err, strings.Join(v.Wrong, "\n\t"))
		return ref, false
	}
	different := difference(memory, ref)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scenarios++
	c.effects += len(ref.Effects())
	if len(different) == 0 {
		c.equal++
	} else {
		c.Errorf("%s: what is written undisturbed is not what is written in memory:\n\t%s", s.Name, strings.Join(different, "\n\t"))
	}
	return ref, true
}

// try plays one run. It is played again when its fault has not met its effect.
func (c *campaign) try(s faults.Scenario, ref faults.Reference, plan []inject.Fault) (v faults.Verdict, met bool) {
	for range tries {
		c.seated(func() { v, _ = s.Try(ref, plan...) })
		if v.Fired || len(v.Wrong) > 0 {
			return v, v.Fired
		}
	}
	return v, false
}

// seated does something when a seat is free.
func (c *campaign) seated(do func()) {
	c.seats <- struct{}{}
	defer func() { <-c.seats }()
	do()
}

// inMemory is what a scenario shows in memory.
func inMemory(t *testing.T, s faults.Scenario) (ref faults.Reference) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var v faults.Verdict
		var err error
		if ref, v, err = s.Refer(); err != nil || len(v.Wrong) > 0 {
			t.Fatalf("%s, in memory: %v %v", s.Name, err, v.Wrong)
		}
	})
	return ref
}

// difference is what is written there and not here, or here and not there, the
// numbers left out. What was refused is left out as well, for caches are behind
// here: it is tried again. So is how often a status is written: once for each
// state of the world that a pass has seen, and how many a pass sees on the way
// depends on when caches and pods follow.
func difference(memory, here faults.Reference) (out []string) {
	count := map[string]int{}
	add := func(n int, labels []string) {
		for _, label := range labels {
			count[label[:strings.LastIndex(label, " #")]] += n
		}
	}
	add(-1, memory.Effects())
	add(+1, memory.Refused())
	add(+1, here.Effects())
	add(-1, here.Refused())
	for what, n := range count {
		switch {
		case n == 0, strings.Contains(what, "/status "):
		case n > 0:
			out = append(out, "on a real API server, not in memory: "+what)
		default:
			out = append(out, "in memory, not on a real API server: "+what)
		}
	}
	slices.Sort(out)
	return out
}
