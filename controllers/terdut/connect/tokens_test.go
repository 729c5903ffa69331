package connect

import (
	"fmt"
	"testing"
	"time"
)

// clock is a time that tests move.
type clock struct{ at time.Time }

func newClock() *clock { return &clock{at: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time { return c.at }

func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }

// arrivals plays passes that come when they were told to, until each has had
// its token, and tells in which order they had it.
func arrivals(t *testing.T, bucket *tokens, c *clock, passes []string) []string {
	t.Helper()
	due := map[int]time.Time{}
	for i := range passes {
		due[i] = c.at
	}
	var served []string
	for tries := 0; len(due) > 0; tries++ {
		if tries > 1_000_000 {
			t.Fatalf("%d passes are never served", len(due))
		}
		next := earliest(due)
		if at := due[next]; at.After(c.at) {
			c.at = at
		}
		wait := bucket.take(passes[next])
		if wait == 0 {
			served = append(served, passes[next])
			delete(due, next)
			continue
		}
		if wait < 0 || wait > 2*longestWait {
			t.Fatalf("told to wait %v", wait)
		}
		due[next] = c.at.Add(wait)
	}
	return served
}

// earliest is the pass that is due first; of several the one with the lowest
// number.
func earliest(due map[int]time.Time) int {
	next := -1
	for i, at := range due {
		if next < 0 || at.Before(due[next]) || at.Equal(due[next]) && i < next {
			next = i
		}
	}
	return next
}

func TestTokensKeepTheRate(t *testing.T) {
	c := newClock()
	begin := c.at
	var passes []string
	for range 400 {
		passes = append(passes, "crowd")
	}
	arrivals(t, newTokens(20, 40, c.now), c, passes)
	took := c.at.Sub(begin)
	if least := 18 * time.Second; took < least || took > 2*least {
		t.Errorf("400 passes with a burst of 40 and 20 a second took %v", took)
	}
}

// TestTokensInTurn: a few passes of other namespaces, behind a crowd of one,
// are not served later than a handful of the crowd's.
func TestTokensInTurn(t *testing.T) {
	for _, others := range []int{1, 3, 7} {
		c := newClock()
		bucket := newTokens(20, 1, c.now)
		passes := []string{}
		for range 300 {
			passes = append(passes, "crowd")
		}
		for i := range others {
			passes = append(passes, fmt.Sprint("other", i))
		}
		served := arrivals(t, bucket, c, passes)
		last := 0
		for i, namespace := range served {
			if namespace != "crowd" {
				last = i
			}
		}
		if last > 3*(others+1) {
			t.Errorf("%d others: the last one was served after %d passes", others, last)
		}
	}
}

// TestTokensArePaidFor: what a pass takes without asking is missing afterwards.
func TestTokensArePaidFor(t *testing.T) {
	c := newClock()
	bucket := newTokens(10, 2, c.now)
	if wait := bucket.take("a"); wait != 0 {
		t.Fatalf("the first waits %v", wait)
	}
	for range 3 {
		bucket.charge("a")
	}
	if wait := bucket.take("b"); wait < 300*time.Millisecond || wait > 400*time.Millisecond {
		t.Errorf("after two tokens were borrowed the next pass waits %v", wait)
	}
}

// crowd plays passes of one namespace, ten side by side and each charging three
// tokens more than it asks for, and what else is to happen at each tick of ten
// milliseconds. It returns how many passes were served.
func crowd(bucket *tokens, c *clock, ticks int, also func(tick int)) int {
	const side, more = 10, 3
	due := make([]time.Time, side)
	served := 0
	for tick := range ticks {
		for i := range due {
			if due[i].After(c.at) {
				continue
			}
			wait := bucket.take("crowd")
			if wait == 0 {
				served++
				for range more {
					bucket.charge("crowd")
				}
			}
			due[i] = c.at.Add(wait)
		}
		also(tick)
		c.pass(10 * time.Millisecond)
	}
	return served
}

// TestTokensSetAside: the pass of a namespace that has been quiet does not wait
// for what a crowd has charged, and the crowd is no slower for it than by what
// that pass takes.
func TestTokensSetAside(t *testing.T) {
	c := newClock()
	bucket := newTokens(50, 100, c.now)
	passes := 0
	served := crowd(bucket, c, 6000, func(tick int) {
		if tick%100 != 50 {
			return
		}
		passes++
		if wait := bucket.take("neighbour"); wait != 0 {
			t.Fatalf("pass %d of the neighbour waits %v", passes, wait)
		}
		for range 3 {
			bucket.charge("neighbour")
		}
	})
	// 60 s at 50 a second, less the neighbour's four for each of its passes.
	if want := (60*50 - 4*passes) / 4; served < want-5 || served > want+30 {
		t.Errorf("the crowd had %d passes, want about %d", served, want)
	}
}

// TestTheQuietLeaveHalf: however many namespaces each ask for so little that it
// is called quiet, who asks for more is not starved by them.
func TestTheQuietLeaveHalf(t *testing.T) {
	c := newClock()
	bucket := newTokens(50, 100, c.now)
	served := crowd(bucket, c, 6000, func(tick int) {
		if bucket.take(fmt.Sprint("quiet", tick%200)) == 0 {
			bucket.charge(fmt.Sprint("quiet", tick%200))
		}
	})
	if served < 10 {
		t.Errorf("the crowd had %d passes in a minute", served)
	}
	if len(bucket.spent) > 201 {
		t.Errorf("remembers %d namespaces", len(bucket.spent))
	}
}

// TestTokensOfTheGone: a namespace that does not come back keeps no place.
func TestTokensOfTheGone(t *testing.T) {
	c := newClock()
	bucket := newTokens(10, 1, c.now)
	bucket.take("a")
	bucket.take("gone")
	c.pass(time.Minute)
	if wait := bucket.take("b"); wait != 0 {
		t.Errorf("waits %v for somebody who is gone", wait)
	}
	if len(bucket.turns) != 0 {
		t.Errorf("still keeps %v", bucket.turns)
	}
}
