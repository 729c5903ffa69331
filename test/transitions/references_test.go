package transitions_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

func secretOf(path, base, name, reason string) reference {
	return reference{
		kind: "TerdutServer", base: base, path: path, missing: name, reason: reason, arrive: brought(name), elsewhere: inAnother(name),
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
	}
}

var references = []reference{
	secretOf("database.passwordSecretRef", "main", "db", v1alpha1.ReasonSecretNotFound),
	secretOf("database.caSecretRef", "main", "ca", v1alpha1.ReasonSecretNotFound),
	secretOf("notify.tokenSecretRef", "main", "ntfy", v1alpha1.ReasonSecretNotFound),
	secretOf("oidc.clientSecretRef", "main", "sso", v1alpha1.ReasonSecretNotFound),
	secretOf("database.postgresClusterRef", "zalando", "zalando", v1alpha1.ReasonClusterNotFound),
	secretOf("database.cnpgClusterRef", "cnpg", "cnpg", v1alpha1.ReasonClusterNotFound),
	secretOf("external.caSecretRef", "external", "ca", ""),
	secretOf("external.adminKeySecretRef", "external", "admin", ""),
	secretOf("bootstrap.adminKeySecretRef", "claimed", "admin", ""),
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
		arrive: func(ctx context.Context, w *world) error { return w.consent(ctx) },
	},
	{
		kind: "TerdutEscalationRule", base: "main", path: "levels[].targets[].username", missing: "alice", reason: v1alpha1.ReasonUserNotFound,
		arrive: func(ctx context.Context, w *world) error {
			if _, _, err := w.peer.AddUser("alice", false); err != nil {
				return err
			}
			return w.lookAgain(ctx)
		},
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
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+v1alpha1.AnnotationReconcile+`":"now"}}}`))
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
	w, err := newWorld(ctx, r.kind, r.base, r.missing)
	if err != nil {
		return err
	}
	if err = env.Admin.Create(ctx, w.object(spec)); err != nil {
		return err
	}
	if err = r.waits(ctx, w); err != nil {
		return fmt.Errorf("without it: %w", err)
	}
	if r.elsewhere != nil {
		if err = r.elsewhere(ctx, w); err != nil {
			return err
		}
		if err = r.waits(ctx, w); err != nil {
			return fmt.Errorf("with one elsewhere: %w", err)
		}
	}
	if r.takeAway != nil {
		if err = r.takeAway(ctx, w); err != nil {
			return err
		}
	}
	if err = r.arrive(ctx, w); err != nil {
		return err
	}
	return same(ctx, w, want)
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

// takeAway deletes what looked like the end of the reference, and waits until it
// is gone: it would show.
func (w *world) takeAway(ctx context.Context, kind, namespace string) error {
	object := w.shaped(kind, namespace, fields{})
	if err := env.Admin.Delete(ctx, object); err != nil {
		return fmt.Errorf("delete %s elsewhere: %w", kind, err)
	}
	return until(ctx, func() string {
		if err := seen.Get(ctx, client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
			return "it is still there"
		}
		return ""
	})
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
