package outcome

import (
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestAs(t *testing.T) {
	cause := errors.New("cause")
	ending := Waiting("Synced", "WaitingForTeam", "no team %d", 7).Because(cause)
	got, ok := As(fmt.Errorf("attach: %w", ending))
	if !ok || got != ending || !errors.Is(got, cause) || got.Message != "no team 7" {
		t.Errorf("found %v, %v", got, ok)
	}
	if _, ok := As(cause); ok {
		t.Error("an error is no ending")
	}
	if _, ok := As(nil); ok {
		t.Error("nil is no ending")
	}
}

func TestSorts(t *testing.T) {
	for _, c := range []struct {
		ending  *Ending
		status  metav1.ConditionStatus
		stalled bool
		retry   Retry
	}{
		{Waiting("C", "R", "m"), metav1.ConditionFalse, false, RetryBackoff},
		{Unknown("C", "R", "m"), metav1.ConditionUnknown, false, RetryBackoff},
		{Refused("C", "R", "m"), metav1.ConditionFalse, true, RetryResync},
	} {
		if e := c.ending; e.Status != c.status || e.Stalled != c.stalled || e.Retry != c.retry || e.On("D").Condition != "D" {
			t.Errorf("%+v", e)
		}
	}
}

func TestSchedule(t *testing.T) {
	const resync = 10 * time.Minute
	s := NewSchedule(resync)
	key := types.NamespacedName{Name: "a"}
	waiting := Waiting("C", "R", "m")
	last := time.Duration(0)
	for range 20 {
		after := s.ended(key, waiting).RequeueAfter
		if after < last || after > backoffLast || last == 0 && after != backoffFirst {
			t.Fatalf("after %v comes %v", last, after)
		}
		last = after
	}
	if last != backoffLast {
		t.Errorf("the longest pause is %v", last)
	}
	if other := s.ended(types.NamespacedName{Name: "b"}, waiting).RequeueAfter; other != backoffFirst {
		t.Errorf("another object pauses %v", other)
	}
	s.After(key, false, nil)
	if after := s.After(key, false, waiting).RequeueAfter; after != backoffFirst {
		t.Errorf("after it was settled it pauses %v", after)
	}
	if after := s.After(key, false, waiting).RequeueAfter; after == backoffFirst {
		t.Errorf("it pauses no longer than before")
	}
	if after := s.After(key, true, waiting).RequeueAfter; after != backoffFirst {
		t.Errorf("an edited object pauses %v", after)
	}
	s.ended(key, waiting)
	s.Forget(key)
	if after := s.ended(key, waiting).RequeueAfter; after != backoffFirst {
		t.Errorf("a forgotten object pauses %v", after)
	}
}

// TestExplained: errors that are no endings are told of once there was nothing
// else for a minute, and again only after another one.
func TestExplained(t *testing.T) {
	s, key, now := NewSchedule(10*time.Minute), types.NamespacedName{Name: "a"}, time.Now()
	failure, waiting := errors.New("failure"), Waiting("C", "R", "m")
	tell := func(err error) *Ending { return Unknown("C", "Told", "%s", Lasting(err)) }
	for _, c := range []struct {
		what  string
		after time.Duration
		err   error
		told  bool
	}{
		{"the first", 0, failure, false}, {"soon after", lasting - 1, failure, false}, {"for a minute", 1, failure, true}, {"still", 1, failure, true},
		{"an ending", 1, waiting, false}, {"failing again", 1, failure, false}, {"again for a minute", lasting, failure, true},
		{"success", 1, nil, false}, {"failing once more", 1, failure, false},
	} {
		now = now.Add(c.after)
		err := s.Explained(key, now, c.err, tell)
		ending, _ := As(err)
		if told := ending != nil && ending.Reason == "Told"; told != c.told || !told && !errors.Is(err, c.err) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	s.Gone(key)
	if err := s.Explained(key, now.Add(lasting), failure, tell); !errors.Is(err, failure) {
		t.Errorf("of an object that was made again: %v", err)
	}
}

// TestTimesThatAreGiven: a resync has its own time, and so has what somebody
// asked for.
func TestTimesThatAreGiven(t *testing.T) {
	const resync = 10 * time.Minute
	s, key := NewSchedule(resync), types.NamespacedName{Name: "a"}
	for range 100 {
		if after := s.settled(key).RequeueAfter; after < resync*9/10 || after > resync*11/10 {
			t.Fatalf("a resync after %v", after)
		}
	}
	asked := Unknown("C", "R", "m")
	asked.After = 7 * time.Second
	if after := s.ended(key, asked).RequeueAfter; after != asked.After {
		t.Errorf("asked to wait %v, waits %v", asked.After, after)
	}
	if after := s.ended(key, Refused("C", "R", "m")).RequeueAfter; after < resync*9/10 {
		t.Errorf("what only a person can change is tried again after %v", after)
	}
}

// TestBackoffEndsAtTheResync: nothing is tried less often than it would be
// looked at anyway, and no pause is zero.
func TestBackoffEndsAtTheResync(t *testing.T) {
	for _, resync := range []time.Duration{0, time.Millisecond, 3 * time.Second} {
		s := NewSchedule(resync)
		for range 10 {
			after := s.ended(types.NamespacedName{}, Waiting("C", "R", "m")).RequeueAfter
			if after <= 0 || after > max(resync, backoffFirst) {
				t.Errorf("resync %v: pauses %v", resync, after)
			}
		}
	}
}
