package server

import (
	"context"
	"errors"
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
)

// errLookedAt is the end of a pass that has begun.
var errLookedAt = errors.New("looked at")

// behind is a cache that shows one server, and ends a pass at its first write.
type behind struct {
	client.Client
	shows *v1alpha1.TerdutServer
}

func (c *behind) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	c.shows.DeepCopyInto(into.(*v1alpha1.TerdutServer))
	return nil
}

func (*behind) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return errLookedAt
}

// A pass that wrote a refusal, and one that sees the refusal cured and the server
// as it was before both: what it wants to say stands there already, by what it
// sees, and would never be said.
func TestACacheThatIsBehindOurLastWriteIsWaitedFor(t *testing.T) {
	now := noon.Time
	server := observed(4)
	server.ResourceVersion = "10"
	r := &Reconciler{Schedule: outcome.NewSchedule(time.Minute), Now: func() time.Time { return now }}
	r.written.Note(server, now)
	server.ResourceVersion = "7"
	r.Client = &behind{shows: server}
	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(server)})
	if soon := r.Schedule.LookAgain(); err != nil || result != soon {
		t.Errorf("looks again %+v, want %+v; %v", result, soon, err)
	}
	server.ResourceVersion = "10"
	if _, err = r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(server)}); !errors.Is(err, errLookedAt) {
		t.Errorf("what was written is not looked at: %v", err)
	}
}
