package interrupted_test

import (
	"bytes"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"
)

// ended proves that no goroutine of an operator is left when all have ended.
func ended(t *testing.T) {
	t.Helper()
	deadline, tick := time.After(time.Minute), time.NewTicker(100*time.Millisecond)
	defer tick.Stop()
	for {
		left := operators(t)
		if len(left) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%d goroutines are left of operators that have ended, such as\n%s", len(left), left[0])
		}
	}
}

// operators are the goroutines in which an operator works.
func operators(t *testing.T) []string {
	t.Helper()
	var text bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&text, 2); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(text.String(), "\n\n"), func(stack string) bool {
		return !strings.Contains(stack, "terdut-operator/controllers") && !strings.Contains(stack, "controller-runtime/pkg/internal/controller")
	})
}
