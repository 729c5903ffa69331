package kstatus_test

import (
	"context"
	"os"
	"testing"
	"time"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
)

const (
	suite    = "kstatus-live"
	resync   = time.Second
	patience = 60 * time.Second
	poll     = 50 * time.Millisecond
	// allowed is the label that the server here asks of a namespace.
	allowed = "terdut.ryuvia.com/allowed"
)

var env *testenv.Env

func TestKStatus(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(poll)
	RunSpecs(t, "what kstatus says", Label("L1"))
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(zap.New(zap.WriteTo(testenv.Log(GinkgoWriter)), zap.UseDevMode(true)))
	Expect(figures.Start(suite)).To(Succeed())
	var err error
	env, err = testenv.Start(ctx, os.Stderr)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(env.Stop()).To(Succeed()) })
})

var _ = AfterEach(func() {
	Expect(env.Requests.Forbidden()).To(BeEmpty(), "the generated role must allow everything that the operator asks for")
	_, unguarded := env.Requests.StatusWrites()
	Expect(unguarded).To(BeEmpty(), "each status means the object that it was computed from")
})

// world is one of each kind.
type world struct {
	peer   *testenv.Peer
	tenant *corev1.Namespace
	server *v1alpha1.TerdutServer
	team   *v1alpha1.TerdutTeam
	rule   *v1alpha1.TerdutEscalationRule
	dead   *v1alpha1.TerdutDeadmanSwitch
	source *v1alpha1.TerdutAlertSource
	remote []client.Object
}

// newWorld creates one of each kind.
func newWorld(ctx context.Context) *world {
	GinkgoHelper()
	platform, err := env.Namespace(ctx, "platform", nil)
	Expect(err).NotTo(HaveOccurred())
	w := &world{tenant: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "tenant-", Labels: map[string]string{allowed: "true"}}}}
	Expect(env.Admin.Create(ctx, w.tenant)).To(Succeed())
	w.peer, err = env.Network.Serve(platform, "terdut", refserver.Options{})
	Expect(err).NotTo(HaveOccurred())
	w.server = &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: platform, Name: "terdut"}}
	w.server.Spec.Database.DSN = "postgres://terdut@db:5432/terdut"
	w.server.Spec.Database.PasswordSecretRef = &v1alpha1.SecretKeyRef{Name: "db", Key: "password"}
	w.server.Spec.AllowedTeams.Namespaces = v1alpha1.AllowedNamespaces{
		From: v1alpha1.FromSelector, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{allowed: "true"}},
	}
	is := metav1.ObjectMeta{Namespace: w.tenant.Name, Name: "payments"}
	of := v1alpha1.LocalRef{Name: is.Name}
	w.team = &v1alpha1.TerdutTeam{ObjectMeta: is}
	w.team.Spec.ServerRef, w.team.Spec.DisplayName = v1alpha1.ServerRef{Name: w.server.Name, Namespace: platform}, "Payments"
	w.rule = &v1alpha1.TerdutEscalationRule{ObjectMeta: is, Spec: v1alpha1.TerdutEscalationRuleSpec{
		TeamRef: of, RepeatCount: 2, Levels: []v1alpha1.EscalationLevel{{Timeout: "5m", Targets: []v1alpha1.EscalationTarget{{Kind: v1alpha1.TargetOnCall}}}},
	}}
	w.dead = &v1alpha1.TerdutDeadmanSwitch{ObjectMeta: is, Spec: v1alpha1.TerdutDeadmanSwitchSpec{
		TeamRef: of, Name: "watchdog", Matcher: "alertname=Watchdog", Timeout: "15m", Severity: "critical",
	}}
	w.source = &v1alpha1.TerdutAlertSource{ObjectMeta: is, Spec: v1alpha1.TerdutAlertSourceSpec{
		TeamRef: of, Name: "alerts", Kind: v1alpha1.AlertSourceAlertmanager,
	}}
	w.remote = []client.Object{w.team, w.rule, w.dead, w.source}
	for _, o := range append([]client.Object{w.server}, w.remote...) {
		Expect(env.Admin.Create(ctx, o)).To(Succeed())
	}
	return w
}

// secret creates what the server's database needs.
func (w *world) secret(ctx context.Context) {
	GinkgoHelper()
	Expect(env.Admin.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.server.Namespace, Name: "db"}, Data: map[string][]byte{"password": []byte("opens nothing")},
	})).To(Succeed())
}

// reads is what kstatus says about an object as the API server has it now.
func reads(ctx context.Context, o client.Object) func() (kstatus.Status, error) {
	return func() (kstatus.Status, error) {
		kind, err := apiutil.GVKForObject(o, env.Admin.Scheme())
		if err != nil {
			return "", err
		}
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(kind)
		if err = env.Admin.Get(ctx, client.ObjectKeyFromObject(o), u); err != nil {
			return "", err
		}
		result, err := kstatus.Compute(u)
		if err != nil {
			return "", err
		}
		return result.Status, nil
	}
}

// change changes an object as it is now.
func change[T client.Object](ctx context.Context, o T, f func(T)) {
	GinkgoHelper()
	Eventually(func() error {
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		f(o)
		return env.Admin.Update(ctx, o)
	}).Should(Succeed())
}

// syncedOf is the condition Synced of the present generation, as "Status
// Reason".
func syncedOf(ctx context.Context, o client.Object) string {
	if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return err.Error()
	}
	var conditions []metav1.Condition
	switch o := o.(type) {
	case *v1alpha1.TerdutTeam:
		conditions = o.Status.Conditions
	case *v1alpha1.TerdutEscalationRule:
		conditions = o.Status.Conditions
	case *v1alpha1.TerdutDeadmanSwitch:
		conditions = o.Status.Conditions
	case *v1alpha1.TerdutAlertSource:
		conditions = o.Status.Conditions
	}
	c := meta.FindStatusCondition(conditions, v1alpha1.ConditionSynced)
	if c == nil || c.ObservedGeneration != o.GetGeneration() {
		return ""
	}
	return string(c.Status) + " " + c.Reason
}
