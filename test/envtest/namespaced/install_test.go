package namespaced_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
)

// allowed is the label that the servers here ask of a namespace.
const allowed = "terdut.ryuvia.com/allowed"

// install is one server, in the namespace platform. It admits tenant and
// stranger; nobody has a Role in stranger.
type install struct {
	platform, tenant, stranger string
	server                     *v1alpha1.TerdutServer
	peer                       *testenv.Peer
	stop                       func() error
}

// newInstall makes the namespaces, and runs the operator in platform and tenant
// until the end of the spec.
func newInstall(ctx context.Context, change func(*v1alpha1.TerdutServer)) *install {
	GinkgoHelper()
	i := &install{
		platform: namespace(ctx, "platform", nil),
		tenant:   namespace(ctx, "tenant", map[string]string{allowed: "true"}),
		stranger: namespace(ctx, "stranger", map[string]string{allowed: "true"}),
	}
	for _, watched := range []string{i.platform, i.tenant} {
		Expect(env.BindIn(ctx, watched)).To(Succeed())
	}
	var err error
	i.peer, err = env.Network.Serve(i.platform, "terdut", refserver.Options{})
	Expect(err).NotTo(HaveOccurred())
	i.run(i.platform, i.tenant)
	DeferCleanup(func() { Expect(i.stop()).To(Succeed()) })

	create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: i.platform, Name: "db"}, Data: map[string][]byte{"password": []byte("opens nothing")},
	})
	i.server = &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: i.platform, Name: "terdut"}}
	i.server.Spec.Database.DSN = "postgres://terdut@db:5432/terdut"
	i.server.Spec.Database.PasswordSecretRef = &v1alpha1.SecretKeyRef{Name: "db", Key: "password"}
	i.server.Spec.AllowedTeams.Namespaces = v1alpha1.AllowedNamespaces{
		From: v1alpha1.FromSelector, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{allowed: "true"}},
	}
	change(i.server)
	create(ctx, i.server)
	eventuallyReady(ctx, i.server)
	return i
}

func asIs(*v1alpha1.TerdutServer) {}

// run runs the operator in those namespaces, and no longer in others.
func (i *install) run(namespaces ...string) {
	GinkgoHelper()
	if i.stop != nil {
		Expect(i.stop()).To(Succeed())
	}
	var err error
	i.stop, err = env.StartOperator(controllers.Options{
		Namespaces: namespaces, Resync: resync, Limits: connect.Limits{Patience: resync},
	})
	Expect(err).NotTo(HaveOccurred())
}

func (i *install) team(namespace, displayName string) *v1alpha1.TerdutTeam {
	t := &v1alpha1.TerdutTeam{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "team-"}}
	t.Spec.ServerRef = v1alpha1.ServerRef{Name: i.server.Name, Namespace: i.platform}
	t.Spec.DisplayName = displayName
	return t
}

// full is one object of each kind in a namespace, the team first.
func (i *install) full(ctx context.Context, namespace string) []client.Object {
	GinkgoHelper()
	t := i.team(namespace, "Payments")
	create(ctx, t)
	of := metav1.ObjectMeta{Namespace: namespace, Name: "payments"}
	team := v1alpha1.LocalRef{Name: t.Name}
	rule := &v1alpha1.TerdutEscalationRule{ObjectMeta: of}
	rule.Spec.TeamRef, rule.Spec.RepeatCount = team, 2
	rule.Spec.Levels = []v1alpha1.EscalationLevel{{Timeout: "5m", Targets: []v1alpha1.EscalationTarget{{Kind: v1alpha1.TargetOnCall}}}}
	deadman := &v1alpha1.TerdutDeadmanSwitch{ObjectMeta: of}
	deadman.Spec = v1alpha1.TerdutDeadmanSwitchSpec{
		TeamRef: team, Name: "watchdog", Matcher: "alertname=Watchdog", Timeout: "15m", Severity: "critical",
	}
	source := &v1alpha1.TerdutAlertSource{ObjectMeta: of}
	source.Spec = v1alpha1.TerdutAlertSourceSpec{TeamRef: team, Name: "alerts", Kind: v1alpha1.AlertSourceAlertmanager}
	create(ctx, rule, deadman, source)
	return []client.Object{t, rule, deadman, source}
}

func namespace(ctx context.Context, prefix string, labels map[string]string) string {
	GinkgoHelper()
	name, err := env.Namespace(ctx, prefix, labels)
	Expect(err).NotTo(HaveOccurred())
	return name
}

func create(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(env.Admin.Create(ctx, o)).To(Succeed())
	}
}

// change changes an object as it is now.
func change[T client.Object](ctx context.Context, o T, f func(T)) {
	GinkgoHelper()
	Eventually(func() error {
		if err := read(ctx, o); err != nil {
			return err
		}
		f(o)
		return env.Admin.Update(ctx, o)
	}).Should(Succeed())
}

func read(ctx context.Context, o client.Object) error {
	return env.Admin.Get(ctx, client.ObjectKeyFromObject(o), o)
}

func remove(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(env.Admin.Delete(ctx, o)).To(Succeed())
	}
}

func eventuallyGone(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Eventually(func() bool { return apierrors.IsNotFound(read(ctx, o)) }).Should(BeTrue(), "%T %s", o, o.GetName())
	}
}

func conditions(o client.Object) []metav1.Condition {
	switch o := o.(type) {
	case *v1alpha1.TerdutServer:
		return o.Status.Conditions
	case *v1alpha1.TerdutTeam:
		return o.Status.Conditions
	case *v1alpha1.TerdutEscalationRule:
		return o.Status.Conditions
	case *v1alpha1.TerdutDeadmanSwitch:
		return o.Status.Conditions
	case *v1alpha1.TerdutAlertSource:
		return o.Status.Conditions
	default:
		panic(fmt.Sprintf("%T has no conditions", o))
	}
}

// says is a condition as "Status Reason: message", of the generation that is
// there now; empty when it is missing or speaks of another generation.
func says(ctx context.Context, o client.Object, conditionType string) func() string {
	return func() string {
		if err := read(ctx, o); err != nil {
			return err.Error()
		}
		c := meta.FindStatusCondition(conditions(o), conditionType)
		if c == nil || c.ObservedGeneration != o.GetGeneration() {
			return ""
		}
		return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
	}
}

func eventuallySays(ctx context.Context, o client.Object, conditionType, begin string) {
	GinkgoHelper()
	Eventually(says(ctx, o, conditionType)).Should(HavePrefix(begin), func() string {
		return fmt.Sprintf("%T %s: %+v", o, o.GetName(), conditions(o))
	})
}

func eventuallyReady(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		eventuallySays(ctx, o, v1alpha1.ConditionReady, "True Ready")
	}
}
