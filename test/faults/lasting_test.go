package faults

import (
	"fmt"
	"testing"
	"testing/synctest"

	"git.ryuvia.com/niklas/terdut-operator/test/faults/inject"
)

// TestLastingFailure: an API server that fails for long is told of on the object
// that waits for it, and forgotten when it works again.
func TestLastingFailure(t *testing.T) {
	const times = 18 // with the pauses in between a quarter of an hour
	installed := installed(everything, "OperatorOnly")
	chain := before(installed, apply(fmt.Sprintf(justTeam, "platform")))
	settle := func(r *Run) error { return r.Settle() }
	for _, c := range []struct {
		what          string
		before        []Step
		fails         string
		change        Step
		object        string
		condition, is string
	}{
		{"a child", installed, "K8S apply Deployment platform/terdut", spec(theServer, "v0.12.0", "image", "tag"), theServer, "Available", "False ApplyFailed"},
		{"a Secret", chain, "K8S apply Secret platform/alerts-terdut-webhook", apply(fmt.Sprintf(justSource, "platform")), ourSource, "Synced", "Unknown ApplyFailed"},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := InBubble()
				if err != nil {
					t.Fatal(err)
				}
				for _, step := range c.before {
					if err = together(step, settle)(r); err != nil {
						t.Fatal(err)
					}
				}
				var faults []inject.Fault
				for i := range times {
					faults = append(faults, inject.Fault{Mode: inject.TooMany, Label: fmt.Sprintf("%s #%d", c.fails, i+1)})
				}
				r.Injector.Arm(faults...)
				err = together(
					c.change, (*Run).calm, says(c.object, c.condition, c.is), settle, ready(c.object),
				)(r)
				if err != nil {
					t.Errorf("%v\n%s", err, r.story())
				}
				if err = r.Stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
