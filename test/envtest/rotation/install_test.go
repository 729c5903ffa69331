package rotation_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
)

// allowed is the label that the servers here ask of a namespace.
const allowed = "terdut.ryuvia.com/allowed"

// install is one server in the platform team's namespace and a tenant that it
// admits.
type install struct {
	platform, tenant string
	server           *v1alpha1.TerdutServer
	peer             *testenv.Peer
}

// newInstall makes an install and waits until the operator has its key.
func newInstall(ctx context.Context) *install {
	GinkgoHelper()
	i := &install{}
	i.platform = namespace(ctx, "platform", nil)
	i.tenant = namespace(ctx, "tenant", map[string]string{allowed: "true"})
	var err error
	i.peer, err = env.Network.Serve(i.platform, "terdut", refserver.Options{})
	Expect(err).NotTo(HaveOccurred())
	create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: i.platform, Name: "db"}, Data: map[string][]byte{"password": []byte("opens nothing")},
	})
	i.server = &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: i.platform, Name: "terdut"}}
	i.server.Spec.Database.DSN = "postgres://terdut@db:5432/terdut"
	i.server.Spec.Database.PasswordSecretRef = &v1alpha1.SecretKeyRef{Name: "db", Key: "password"}
	i.server.Spec.AllowedTeams.Namespaces = v1alpha1.AllowedNamespaces{
		From: v1alpha1.FromSelector, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{allowed: "true"}},
	}
	create(ctx, i.server)
	eventuallyReady(ctx, i.server)
	return i
}

// team is a team of the tenant.
func (i *install) team(displayName string) *v1alpha1.TerdutTeam {
	t := &v1alpha1.TerdutTeam{ObjectMeta: metav1.ObjectMeta{Namespace: i.tenant, GenerateName: "team-"}}
	t.Spec.ServerRef = v1alpha1.ServerRef{Name: i.server.Name, Namespace: i.platform}
	t.Spec.DisplayName = displayName
	return t
}

// readyTeam makes a team and waits for it.
func (i *install) readyTeam(ctx context.Context, displayName string) *v1alpha1.TerdutTeam {
	GinkgoHelper()
	t := i.team(displayName)
	create(ctx, t)
	eventuallyReady(ctx, t)
	return t
}

func rule(t *v1alpha1.TerdutTeam, name string, levels ...v1alpha1.EscalationLevel) *v1alpha1.TerdutEscalationRule {
	r := &v1alpha1.TerdutEscalationRule{ObjectMeta: metav1.ObjectMeta{Namespace: t.Namespace, Name: name}}
	r.Spec.TeamRef.Name, r.Spec.RepeatCount, r.Spec.Levels = t.Name, 2, levels
	return r
}

// level is a level that pages whoever is on call and those users.
func level(timeout string, users ...string) v1alpha1.EscalationLevel {
	l := v1alpha1.EscalationLevel{Timeout: v1alpha1.Duration(timeout)}
	l.Targets = append(l.Targets, v1alpha1.EscalationTarget{Kind: v1alpha1.TargetOnCall})
	for _, u := range users {
		l.Targets = append(l.Targets, v1alpha1.EscalationTarget{Kind: v1alpha1.TargetUser, Username: u})
	}
	return l
}

func deadman(t *v1alpha1.TerdutTeam, name string) *v1alpha1.TerdutDeadmanSwitch {
	s := &v1alpha1.TerdutDeadmanSwitch{ObjectMeta: metav1.ObjectMeta{Namespace: t.Namespace, Name: name}}
	s.Spec = v1alpha1.TerdutDeadmanSwitchSpec{
		TeamRef: v1alpha1.LocalRef{Name: t.Name}, Name: name, Matcher: "alertname=Watchdog,team=" + name,
		Timeout: "15m", Severity: "critical",
	}
	return s
}

func source(t *v1alpha1.TerdutTeam, name string) *v1alpha1.TerdutAlertSource {
	s := &v1alpha1.TerdutAlertSource{ObjectMeta: metav1.ObjectMeta{Namespace: t.Namespace, Name: name}}
	s.Spec = v1alpha1.TerdutAlertSourceSpec{
		TeamRef: v1alpha1.LocalRef{Name: t.Name}, Name: name, Kind: v1alpha1.AlertSourceAlertmanager,
	}
	return s
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

// told is a condition as "Status Reason", of the generation that is there now;
// empty when it is missing or speaks of another generation.
func told(ctx context.Context, o client.Object, conditionType string) func() string {
	return func() string {
		if err := read(ctx, o); err != nil {
			return err.Error()
		}
		c := meta.FindStatusCondition(conditions(o), conditionType)
		if c == nil || c.ObservedGeneration != o.GetGeneration() {
			return ""
		}
		return string(c.Status) + " " + c.Reason
	}
}

// message is what a condition says.
func message(o client.Object, conditionType string) string {
	if c := meta.FindStatusCondition(conditions(o), conditionType); c != nil {
		return c.Message
	}
	return ""
}

func eventuallyTold(ctx context.Context, o client.Object, conditionType, want string) {
	GinkgoHelper()
	Eventually(told(ctx, o, conditionType)).Should(Equal(want), func() string {
		return fmt.Sprintf("%T %s: %+v", o, o.GetName(), conditions(o))
	})
}

func eventuallyReady(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		eventuallyTold(ctx, o, v1alpha1.ConditionReady, "True Ready")
	}
}

// eventuallyEvent waits for an Event, "Type Reason: note", about an object.
func eventuallyEvent(ctx context.Context, o client.Object, want gomegatypes.GomegaMatcher) {
	GinkgoHelper()
	Eventually(func() ([]string, error) { return env.Events(ctx, o) }).Should(ContainElement(want))
}
