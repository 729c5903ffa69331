package rotation_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

// story is a change of a settled source, and whether its key is another one
// afterwards.
type story struct {
	name    string
	change  func(*v1alpha1.TerdutAlertSource)
	rotates bool
}

const token = "t1"

func asks(s *v1alpha1.TerdutAlertSource) {
	metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationRotate, token)
}

var stories = []story{
	{"rotation", asks, true},
	{"rotation at once", func(s *v1alpha1.TerdutAlertSource) { asks(s); s.Spec.RotationGrace = ptr.To(v1alpha1.Grace("0s")) }, true},
	{"move", func(s *v1alpha1.TerdutAlertSource) { s.Spec.WebhookSecretName = s.Name + "-moved" }, false},
	{"rotation and move", func(s *v1alpha1.TerdutAlertSource) { asks(s); s.Spec.WebhookSecretName = s.Name + "-moved" }, true},
	{"rotation and rename", func(s *v1alpha1.TerdutAlertSource) { asks(s); s.Spec.Name += "-renamed" }, true},
}

// fenced is one source whose incarnation of the operator ends at an effect: from
// then on nothing that it asks about the source arrives.
type fenced struct {
	story  story
	source *v1alpha1.TerdutAlertSource
	teamID int64
	before string // its key
	url    string // and where that leads
	// at is the effect at which it ends, from 1 on; 0 lets all through. After:
	// that effect still happens, and its answer does not arrive.
	at    int
	after bool

	effects []string
	ended   bool
}

func (f *fenced) String() string {
	return fmt.Sprintf("%s, effect %d of %v, carried out: %v", f.story.name, f.at, f.effects, f.after)
}

// concerns tells whether a request is about the source.
func (f *fenced) concerns(path string) bool {
	if strings.HasPrefix(path, fmt.Sprintf("/api/teams/%d/integrations", f.teamID)) {
		return true
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == f.source.Name || part == f.source.Name+"-moved" || part == v1alpha1.WebhookSecretName(f.source.Name) {
			return true
		}
	}
	return false
}

var errFenced = errors.New("this incarnation is over")

// fence lets the requests of many sources through, each up to its end.
type fence struct {
	mu  sync.Mutex
	all []*fenced
}

func (x *fence) around(req *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
	i := slices.IndexFunc(x.all, func(f *fenced) bool { return f.concerns(req.URL.Path) })
	if i < 0 || strings.Contains(req.URL.Path, "/events") {
		return send()
	}
	f := x.all[i]
	x.mu.Lock()
	if f.ended {
		x.mu.Unlock()
		return nil, errFenced
	}
	if req.Method == http.MethodGet {
		x.mu.Unlock()
		return send()
	}
	f.effects = append(f.effects, req.Method+" "+req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:])
	f.ended = len(f.effects) == f.at
	ends := f.ended
	x.mu.Unlock()
	switch {
	case !ends:
		return send()
	case f.after:
		if resp, err := send(); err == nil {
			_ = resp.Body.Close() // nobody reads it
		}
	}
	return nil, errFenced
}

// open are those that have not come to their end.
func (x *fence) open() []*fenced {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(x.all), func(f *fenced) bool { return f.ended })
}

// begin makes a source on a team of its own.
func (i *install) begin(ctx context.Context, name string, of story) *fenced {
	GinkgoHelper()
	team := i.Team(name)
	env.Create(ctx, team)
	f := &fenced{story: of, source: sample.Source(team, name)}
	env.Create(ctx, f.source)
	return f
}

// settle waits for a source, and looks at it.
func (f *fenced) settle(ctx context.Context) {
	GinkgoHelper()
	env.EventuallyReady(ctx, f.source)
	old := webhook(ctx, f.source)
	f.teamID, f.before, f.url = f.source.Status.Remote.TeamID, keyOf(old), urlOf(old)
}

// wrong says what is not as it should be at the end of a story.
func (i *install) wrong(ctx context.Context, f *fenced) error {
	s := f.source
	if err := env.Read(ctx, s); err != nil {
		return err
	}
	now := webhook(ctx, s)
	key, status := keyOf(now), &s.Status
	switch {
	case status.PendingCreate != nil || status.ObservedGeneration != s.Generation:
		return errors.New("it is not done")
	case f.story.rotates != (key != f.before) || f.story.rotates && status.Rotated != token:
		return fmt.Errorf("the key is another one: %v, acknowledged is %q", key != f.before, status.Rotated)
	}
	if err := i.wrongInCluster(ctx, s, now); err != nil {
		return err
	}
	return i.wrongOnServer(f)
}

// wrongInCluster says what is not as it should be of the Secret that a source
// has now.
func (i *install) wrongInCluster(ctx context.Context, s *v1alpha1.TerdutAlertSource, now *corev1.Secret) error {
	key, status := keyOf(now), &s.Status
	switch {
	case key == "" || len(now.Data) != 3 || i.Peer.IntegrationID(key) != status.IntegrationID:
		return errors.New("the Secret does not hold the key of the integration that is recorded")
	case status.WebhookURLSecretRef.Name != s.WebhookSecret():
		return fmt.Errorf("the key is recorded in Secret %q", status.WebhookURLSecretRef.Name)
	case s.Spec.WebhookSecretName != "" && secret(ctx, s.Namespace, v1alpha1.WebhookSecretName(s.Name)).Name != "":
		return errors.New("the Secret before is still there")
	case !accepts(urlOf(now)):
		return errors.New("the key does not work")
	}
	return nil
}

// wrongOnServer says what is not as it should be on the server, and of what
// stays there for the time of grace.
func (i *install) wrongOnServer(f *fenced) error {
	s := f.source
	integrations, wanted := i.Peer.Integrations(f.teamID), 1+len(s.Status.Retiring)
	var names []string
	for _, one := range integrations {
		names = append(names, one.Name)
	}
	switch {
	case len(integrations) != wanted || !slices.Contains(names, s.Spec.Name):
		return fmt.Errorf("integrations %q; want %d, one of them %q", names, wanted, s.Spec.Name)
	case s.Spec.RotationGrace != nil && len(s.Status.Retiring) > 0:
		return errors.New("the integration before is still there")
	case f.story.rotates && s.Spec.RotationGrace == nil && !accepts(f.url):
		return errors.New("the key before does not work although its grace is not over")
	}
	return nil
}

// Alone, since it ends the operator.
var _ = Describe("an operator that ends at any effect of a change", Serial, Ordered, func() {
	It("is taken over from by the next one", func(ctx SpecContext) {
		i := newInstall(ctx)
		var undisturbed []*fenced
		for n, of := range stories {
			undisturbed = append(undisturbed, i.begin(ctx, fmt.Sprintf("calm-%d", n), of))
		}
		for _, f := range undisturbed {
			f.settle(ctx)
		}
		x := &fence{all: undisturbed}
		env.Surround(x.around)
		DeferCleanup(func() { env.Surround(nil) })
		for _, f := range undisturbed {
			steps.Change(ctx, env, f.source, f.story.change)
		}
		for _, f := range undisturbed {
			Eventually(func() error { return i.wrong(ctx, f) }).Should(Succeed(), f.String)
		}
		env.Surround(nil)

		var cut []*fenced
		for n, calm := range undisturbed {
			AddReportEntry(calm.story.name, fmt.Sprint(calm.effects))
			for at := range len(calm.effects) {
				for _, after := range []bool{false, true} {
					f := i.begin(ctx, fmt.Sprintf("cut-%d-%d-%v", n, at+1, after), calm.story)
					f.at, f.after = at+1, after
					cut = append(cut, f)
				}
			}
		}
		for _, f := range cut {
			f.settle(ctx)
		}
		x = &fence{all: cut}
		env.Surround(x.around)
		for _, f := range cut {
			steps.Change(ctx, env, f.source, f.story.change)
		}
		// A pass that meets a stale cache tries a write more, which not every run
		// does: a story that is done before its effect does not count.
		uncut := 0
		Eventually(func() error {
			uncut = 0
			for _, f := range x.open() {
				if err := i.wrong(ctx, f); err != nil {
					return err
				}
				uncut++
			}
			return nil
		}).Should(Succeed(), "each story comes to its effect, or to its end")
		Expect(uncut).To(BeNumerically("<", len(cut)/4))
		Expect(stop()).To(Succeed())
		env.Surround(nil)
		startOperator()

		for _, f := range cut {
			Eventually(func() error { return i.wrong(ctx, f) }).Should(Succeed(), f.String)
		}
		Expect(figures.Count(suite, "source-rotation-interruptions", len(cut)-uncut, len(cut)-uncut)).To(Succeed())

		By("ending every grace, with one integration left to each")
		pass(2 * grace)
		for _, f := range cut {
			Eventually(func() int { return len(i.Peer.Integrations(f.teamID)) }).Should(Equal(1), f.String)
			Expect(accepts(urlOf(webhook(ctx, f.source)))).To(BeTrue())
		}
	})
})
