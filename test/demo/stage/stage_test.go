package stage

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestUntilReturnsWhenTheCheckHasNoComplaint(t *testing.T) {
	calls := 0
	err := Until(t.Context(), time.Minute, func(context.Context) error {
		if calls++; calls < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil || calls != 3 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

func TestUntilKeepsTheLastComplaint(t *testing.T) {
	err := Until(t.Context(), time.Nanosecond, func(context.Context) error { return errors.New("the team is not ready") })
	if err == nil || !strings.Contains(err.Error(), "the team is not ready") {
		t.Errorf("got %v", err)
	}
}

func TestUntilGivesTheReasonOfTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the operator ended")
	err := Until(ctx, time.Minute, func(ctx context.Context) error {
		cancel(reason)
		return ctx.Err()
	})
	if !errors.Is(err, reason) {
		t.Errorf("got %v", err)
	}
}

func TestBuildErrorsAreOneLine(t *testing.T) {
	failed := errors.New("exit status 1")
	cases := []struct{ output, want string }{
		{"", "exit status 1"},
		{"# example.com/x\nx/x.go:1:2: undefined: y\nx/x.go:3:4: undefined: z\n", "x/x.go:1:2: undefined: y"},
		{"go: downloading a v1\na.go:1:1: a@v1: Get \"https://proxy/\": dial tcp: lookup proxy: no such host\n", "check the network, or set GOPROXY"},
	}
	for _, c := range cases {
		if got := explainBuild(c.output, failed); !strings.Contains(got, c.want) || strings.Contains(got, "\n") {
			t.Errorf("explainBuild(%q) is %q, want %q in it", c.output, got, c.want)
		}
	}
}

func TestKubectlErrorsAreTheComplaint(t *testing.T) {
	failed := errors.New("exit status 1")
	cases := map[string]string{
		"error: unknown flag: --x\nSee 'kubectl wait --help' for usage.\n": "error: unknown flag: --x",
		"Warning: old\nError from server (NotFound): no x\n":               "Error from server (NotFound): no x",
		"timed out\n": "timed out",
		"":            "exit status 1",
	}
	for said, want := range cases {
		if got := complaint(said, failed).Error(); got != want {
			t.Errorf("complaint(%q) is %q, want %q", said, got, want)
		}
	}
}
