package policies_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
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

func runOperator() {
	GinkgoHelper()
	_, err := env.StartOperator(controllers.Options{Resync: resync, Limits: connect.Limits{Patience: resync}, Clock: clock.now})
	Expect(err).NotTo(HaveOccurred())
}

// install is a server that admits everybody, and a tenant with one of each
// kind on it.
type install struct {
	platform, tenant string
	peer             *testenv.Peer
	server           *v1alpha1.TerdutServer
	team             *v1alpha1.TerdutTeam
	rule             *v1alpha1.TerdutEscalationRule
	deadman          *v1alpha1.TerdutDeadmanSwitch
	source           *v1alpha1.TerdutAlertSource
}

// children are what belongs to the team, all what lives on the server.
func (i *install) children() []client.Object { return []client.Object{i.rule, i.deadman, i.source} }
func (i *install) all() []client.Object      { return append(i.children(), i.team) }

// newInstall makes an install and waits until everything in it is ready.
func newInstall(ctx context.Context, policy v1alpha1.DeletionPolicy) *install {
	GinkgoHelper()
	i := &install{platform: namespace(ctx, "platform"), tenant: namespace(ctx, "tenant")}
	var err error
	i.peer, err = env.Network.Serve(i.platform, "terdut", refserver.Options{})
	Expect(err).NotTo(HaveOccurred())
	create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: i.platform, Name: "db"}, Data: map[string][]byte{"password": []byte("opens nothing")},
	})
	i.server = &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: i.platform, Name: "terdut"}}
	i.server.Spec.Database.DSN = "postgres://terdut@db:5432/terdut"
	i.server.Spec.Database.PasswordSecretRef = &v1alpha1.SecretKeyRef{Name: "db", Key: "password"}
	i.server.Spec.AllowedTeams.Namespaces.From = v1alpha1.FromAll
	i.server.Spec.Credentials = &v1alpha1.ServerCredentials{Mode: v1alpha1.CredentialsOperatorOnly}

	at := metav1.ObjectMeta{Namespace: i.tenant, Name: "payments"}
	i.team = &v1alpha1.TerdutTeam{ObjectMeta: at, Spec: v1alpha1.TerdutTeamSpec{
		ServerRef: v1alpha1.ServerRef{Name: "terdut", Namespace: i.platform}, DisplayName: "Payments", DeletionPolicy: policy,
	}}
	i.rule = rule(i.tenant, "payments", "5m")
	i.rule.Spec.DeletionPolicy = policy
	ref := v1alpha1.LocalRef{Name: "payments"}
	i.deadman = &v1alpha1.TerdutDeadmanSwitch{ObjectMeta: at, Spec: v1alpha1.TerdutDeadmanSwitchSpec{
		TeamRef: ref, Name: "watchdog", Matcher: "alertname=Watchdog", Timeout: "15m", Severity: "critical", DeletionPolicy: policy,
	}}
	i.source = &v1alpha1.TerdutAlertSource{ObjectMeta: at, Spec: v1alpha1.TerdutAlertSourceSpec{
		TeamRef: ref, Name: "alerts", Kind: v1alpha1.AlertSourceAlertmanager, DeletionPolicy: policy,
	}}
	create(ctx, i.server, i.team, i.rule, i.deadman, i.source)
	eventuallyReady(ctx, append(i.all(), i.server)...)
	return i
}

func rule(namespace, name, timeout string) *v1alpha1.TerdutEscalationRule {
	r := &v1alpha1.TerdutEscalationRule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	r.Spec.TeamRef.Name = "payments"
	r.Spec.Levels = []v1alpha1.EscalationLevel{{
		Timeout: v1alpha1.Duration(timeout), Targets: []v1alpha1.EscalationTarget{{Kind: v1alpha1.TargetOnCall}},
	}}
	return r
}

// webhook is the Secret of the source.
func (i *install) webhook() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: i.tenant, Name: i.source.Status.WebhookURLSecretRef.Name}}
}

// calls are the calls to the server that have to do with teams: whether the
// operator's key is good is asked now and then.
func (i *install) calls() []string {
	var out []string
	for _, call := range i.peer.Calls("GET", "POST", "PUT", "PATCH", "DELETE") {
		if strings.Contains(call, "/api/teams") {
			out = append(out, call)
		}
	}
	return out
}

func namespace(ctx context.Context, prefix string) string {
	GinkgoHelper()
	name, err := env.Namespace(ctx, prefix, nil)
	Expect(err).NotTo(HaveOccurred())
	return name
}

func create(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(env.Admin.Create(ctx, o)).To(Succeed())
	}
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

// annotate sets an annotation; an empty value takes it away.
func annotate(ctx context.Context, key, value string, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Eventually(func() error {
			if err := read(ctx, o); err != nil {
				return err
			}
			a := o.GetAnnotations()
			if a == nil {
				a = map[string]string{}
			}
			if a[key] = value; value == "" {
				delete(a, key)
			}
			o.SetAnnotations(a)
			return env.Admin.Update(ctx, o)
		}).Should(Succeed())
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

func eventuallyGone(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Eventually(func() bool { return apierrors.IsNotFound(read(ctx, o)) }).Should(BeTrue(), "%T %s", o, o.GetName())
	}
}

// of is the part of a status that all kinds share.
func of(o client.Object) (conditions []metav1.Condition, reconciled string) {
	switch o := o.(type) {
	case *v1alpha1.TerdutServer:
		return o.Status.Conditions, o.Status.Reconciled
	case *v1alpha1.TerdutTeam:
		return o.Status.Conditions, o.Status.Reconciled
	case *v1alpha1.TerdutEscalationRule:
		return o.Status.Conditions, o.Status.Reconciled
	case *v1alpha1.TerdutDeadmanSwitch:
		return o.Status.Conditions, o.Status.Reconciled
	case *v1alpha1.TerdutAlertSource:
		return o.Status.Conditions, o.Status.Reconciled
	default:
		panic(fmt.Sprintf("%T has no conditions", o))
	}
}

func message(o client.Object, conditionType string) string {
	conditions, _ := of(o)
	if c := meta.FindStatusCondition(conditions, conditionType); c != nil {
		return c.Message
	}
	return ""
}

// eventuallyTold waits for a condition, "Status Reason"; empty means that it is
// not there.
func eventuallyTold(ctx context.Context, o client.Object, conditionType, want string) {
	GinkgoHelper()
	Eventually(func() string {
		if err := read(ctx, o); err != nil {
			return err.Error()
		}
		conditions, _ := of(o)
		c := meta.FindStatusCondition(conditions, conditionType)
		if c == nil {
			return ""
		}
		return string(c.Status) + " " + c.Reason
	}).Should(Equal(want), func() string { return fmt.Sprintf("%T %s: %+v", o, o.GetName(), o) })
}

func eventuallyReady(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		eventuallyTold(ctx, o, v1alpha1.ConditionReady, "True Ready")
	}
}

func eventuallyEvent(ctx context.Context, o client.Object, want gomegatypes.GomegaMatcher) {
	GinkgoHelper()
	Eventually(func() ([]string, error) { return env.Events(ctx, o) }).Should(ContainElement(want))
}
