package transitions_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

// reference is one reference of one kind whose end is missing at first.
type reference struct {
	kind, base, path string
	// missing is what is left out of the world.
	missing string
	// reason is one that stands in the conditions meanwhile.
	reason string
	// elsewhere makes what looks like the end of the reference and is not.
	elsewhere func(ctx context.Context, w *world) error
	// takeAway takes that away again, where it would show.
	takeAway func(ctx context.Context, w *world) error
	// arrive makes the end of the reference.
	arrive func(ctx context.Context, w *world) error
	// leave takes the end away again, which then is the reason lost; nil where
	// what refers to it keeps it from going.
	leave func(ctx context.Context, w *world) error
	lost  string
}

func (r reference) title() string { return fmt.Sprintf("%s %s to %s", r.kind, r.path, r.missing) }

// brought makes what was left out, from the documents of a world.
func brought(name string) func(context.Context, *world) error {
	return func(ctx context.Context, w *world) error {
		return w.furnishOnly(ctx, name)
	}
}

// inAnother makes the end of a reference where it does not count.
func inAnother(name string) func(context.Context, *world) error {
	return func(ctx context.Context, w *world) error {
		other := *w
		other.platform = w.tenant
		return other.furnishOnly(ctx, name)
	}
}

func secretOf(path, base, name, reason, lost string) reference {
	return reference{
		kind: "TerdutServer", base: base, path: path, missing: name, reason: reason, arrive: brought(name), elsewhere: inAnother(name),
		leave: func(ctx context.Context, w *world) error { return w.withdraw(ctx, name) }, lost: lost,
	}
}

// teamOf is the reference of a kind to its team.
func teamOf(kind string) reference {
	return reference{
		kind: kind, base: "main", path: "teamRef", missing: "platform", reason: v1alpha1.ReasonWaitingForTeam,
		arrive: func(ctx context.Context, w *world) error { return w.team(ctx) },
		elsewhere: func(ctx context.Context, w *world) error {
			return w.create(ctx, "TerdutTeam", w.platform, fields{"serverRef": fields{"name": "absent"}, "displayName": "Elsewhere"})
		},
		takeAway: func(ctx context.Context, w *world) error { return w.takeAway(ctx, "TerdutTeam", w.platform) },
		leave:    func(ctx context.Context, w *world) error { return w.takeAway(ctx, "TerdutTeam", w.tenant) }, lost: v1alpha1.ReasonWaitingForTeam,
	}
}

var references = []reference{
	secretOf("database.passwordSecretRef", "main", "db", v1alpha1.ReasonSecretNotFound, v1alpha1.ReasonSecretNotFound),
	secretOf("database.caSecretRef", "main", "ca", v1alpha1.ReasonSecretNotFound, v1alpha1.ReasonSecretNotFound),
	secretOf("notify.tokenSecretRef", "main", "ntfy", v1alpha1.ReasonSecretNotFound, v1alpha1.ReasonSecretNotFound),
	secretOf("oidc.clientSecretRef", "main", "sso", v1alpha1.ReasonSecretNotFound, v1alpha1.ReasonSecretNotFound),
	secretOf("database.postgresClusterRef", "zalando", "zalando", v1alpha1.ReasonClusterNotFound, v1alpha1.ReasonClusterNotFound),
	secretOf("database.cnpgClusterRef", "cnpg", "cnpg", v1alpha1.ReasonClusterNotFound, v1alpha1.ReasonClusterNotFound),
	secretOf("external.caSecretRef", "external", "ca", "", v1alpha1.ReasonSecretNotFound),
	secretOf("external.adminKeySecretRef", "external", "admin", "", v1alpha1.ReasonReady),
	secretOf("bootstrap.adminKeySecretRef", "claimed", "admin", "", v1alpha1.ReasonReady),
	{
		// Another namespace does not tell what it lacks.
		kind: "TerdutTeam", base: "main", path: "serverRef", missing: "terdut", reason: v1alpha1.ReasonRefNotPermitted,
		arrive: func(ctx context.Context, w *world) error {
			if err := w.create(ctx, "TerdutServer", w.platform, plain); err != nil {
				return err
			}
			return w.people(ctx, "")
		},
		elsewhere: func(ctx context.Context, w *world) error { return w.create(ctx, "TerdutServer", w.tenant, plain) },
		takeAway:  func(ctx context.Context, w *world) error { return w.takeAway(ctx, "TerdutServer", w.tenant) },
	},
	{
		kind: "TerdutTeam", base: "main", path: "serverRef", missing: "consent", reason: v1alpha1.ReasonRefNotPermitted,
		arrive: func(ctx context.Context, w *world) error { return w.consent(ctx, plain) },
		leave:  func(ctx context.Context, w *world) error { return w.consent(ctx, with(plain, "allowedTeams", gone{})) },
		lost:   v1alpha1.ReasonRefNotPermitted,
	},
	{
		kind: "TerdutEscalationRule", base: "main", path: "levels[].targets[].username", missing: "alice", reason: v1alpha1.ReasonUserNotFound,
		arrive: func(ctx context.Context, w *world) error {
			if _, _, err := w.peer.AddUser("alice", false); err != nil {
				return err
			}
			return w.lookAgain(ctx)
		},
		leave: func(ctx context.Context, w *world) error {
			for _, u := range w.peer.Users() {
				if u.Username == "alice" {
					if err := w.peer.Model().DeleteUser(u.ID); err != nil {
						return err
					}
				}
			}
			return w.lookAgain(ctx)
		},
		lost: v1alpha1.ReasonUserNotFound,
	},
	teamOf("TerdutEscalationRule"), teamOf("TerdutDeadmanSwitch"), teamOf("TerdutAlertSource"),
}

// furnishOnly makes one object of the documents of a world.
func (w *world) furnishOnly(ctx context.Context, name string) error {
	all, err := w.documents()
	if err != nil {
		return err
	}
	for _, object := range all {
		if object.GetName() == name {
			return w.put(ctx, object)
		}
	}
	return fmt.Errorf("find %s in testdata/world.yaml: it is not there", name)
}

// reasons are those of the conditions of the object under test.
func (w *world) reasons(ctx context.Context) ([]string, error) {
	object := w.object(fields{})
	if err := seen.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return nil, err
	}
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	var out []string
	for _, c := range conditions {
		out = append(out, fmt.Sprint(c.(fields)["reason"]))
	}
	return out, err
}

// lookAgain asks for a pass: no watch tells what has changed on a server.
func (w *world) lookAgain(ctx context.Context) error {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+v1alpha1.AnnotationReconcile+`":"`+time.Now().String()+`"}}}`))
	return env.Admin.Patch(ctx, w.object(fields{}), patch)
}

// late creates the object before what it refers to, and compares the end with
// that of an object that was created after it.
func (r reference) late(ctx context.Context, f *fresh) error {
	all, err := samplesOf(r.kind)
	if err != nil {
		return err
	}
	spec := all.Bases[r.base]
	want, err := f.of(ctx, r.kind, r.base, spec)
	if err != nil {
		return err
	}
	if err = want.runs(ctx); err != nil {
		return fmt.Errorf("with it from the start: %w", err)
	}
	w, err := newWorld(ctx, r.kind, r.base, r.missing)
	if err != nil {
		return err
	}
	if err = env.Admin.Create(ctx, w.object(spec)); err != nil {
		return err
	}
	if err = r.until(ctx, w); err != nil {
		return err
	}
	if err = same(ctx, w, want); err != nil || r.leave == nil {
		return err
	}
	return r.later(ctx, w, want)
}

// until waits without the end of the reference, with what only looks like it, and
// brings it at last.
func (r reference) until(ctx context.Context, w *world) error {
	none := func(context.Context, *world) error { return nil }
	for _, meanwhile := range []struct {
		what string
		make func(context.Context, *world) error
	}{
		{"without it", none}, {"with one of another kind", r.namesake}, {"with one elsewhere", r.elsewhere},
	} {
		if meanwhile.make == nil {
			continue
		}
		if err := meanwhile.make(ctx, w); err != nil {
			return err
		}
		if err := r.waits(ctx, w); err != nil {
			return fmt.Errorf("%s: %w", meanwhile.what, err)
		}
	}
	if r.takeAway != nil {
		if err := r.takeAway(ctx, w); err != nil {
			return err
		}
	}
	return r.arrive(ctx, w)
}

// waits waits for the reason that says what is missing.
func (r reference) waits(ctx context.Context, w *world) error { return w.says(ctx, r.reason) }

// says waits until the conditions speak of the spec that is there now and one of
// them has that reason; without a reason, until they say that it is not ready.
func (w *world) says(ctx context.Context, reason string) error {
	return until(ctx, func() string {
		if open := w.seenNow(ctx); open != "" {
			return open
		}
		reasons, err := w.reasons(ctx)
		switch {
		case err != nil:
			return err.Error()
		case reason == "" && slices.Contains(reasons, v1alpha1.ReasonReady), reason != "" && !slices.Contains(reasons, reason):
			return "the conditions say " + strings.Join(reasons, " ")
		}
		return ""
	}, w)
}

// runs waits until a server runs: two that are being made look alike.
func (w *world) runs(ctx context.Context) error {
	return until(ctx, func() string { return w.starts(ctx) }, w)
}

// starts is what the conditions say while a server does not run yet; empty when
// it does.
func (w *world) starts(ctx context.Context) string {
	reasons, err := w.reasons(ctx)
	if err != nil {
		return err.Error()
	}
	first := slices.ContainsFunc([]string{v1alpha1.ReasonRolloutInProgress, v1alpha1.ReasonWaitingForServer}, func(reason string) bool {
		return slices.Contains(reasons, reason)
	})
	if len(reasons) == 0 || first {
		return "the conditions say " + strings.Join(reasons, " ")
	}
	return ""
}

var _ = Describe("every reference", func() {
	It("waits by name for what is missing, and then becomes as if it had been there", func(ctx SpecContext) {
		only, f := regexp.MustCompile(os.Getenv("CELLS")), &fresh{}
		t := &tally{}
		var running sync.WaitGroup
		for _, r := range references {
			if !only.MatchString(r.title()) {
				continue
			}
			running.Go(func() { t.count(r.title()+": late", &t.steps, &t.passed, r.late(ctx, f)) })
		}
		running.Wait()
		if os.Getenv("CELLS") == "" {
			Expect(figures.Count(suite, "late-references", t.passed, t.steps)).To(Succeed())
		}
		Expect(t.failures).To(BeEmpty(), "\n"+strings.Join(t.failures, "\n"))
	})
})
