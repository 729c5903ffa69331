package badinput_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// install is one server behind its proxy, and one of each kind that lives on it.
type install struct {
	namespace string
	server    *v1alpha1.TerdutServer
	proxy     *proxy

	team    *v1alpha1.TerdutTeam
	rule    *v1alpha1.TerdutEscalationRule
	deadman *v1alpha1.TerdutDeadmanSwitch
	source  *v1alpha1.TerdutAlertSource
	objects []client.Object
}

// newInstall makes a server and waits until the operator has its key. What is
// to live on it is prepared and not created.
func newInstall(ctx context.Context) *install {
	GinkgoHelper()
	i := &install{namespace: namespace(ctx)}
	var err error
	i.proxy, err = network.serve(i.namespace, "terdut")
	Expect(err).NotTo(HaveOccurred())
	create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: "db"}, Data: map[string][]byte{"password": []byte("opens nothing")},
	})
	i.server = &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: "terdut"}}
	i.server.Spec.Database.DSN = "postgres://terdut@db:5432/terdut"
	i.server.Spec.Database.PasswordSecretRef = &v1alpha1.SecretKeyRef{Name: "db", Key: "password"}
	i.server.Spec.AllowedTeams.Namespaces.From = v1alpha1.FromAll
	i.server.Spec.Credentials = &v1alpha1.ServerCredentials{Mode: v1alpha1.CredentialsOperatorOnly}
	create(ctx, i.server)
	eventuallyReady(ctx, i.server)

	i.team = i.teamIn(i.namespace, "payments", "Payments")
	i.team.Spec.OIDC = &v1alpha1.TeamOIDC{MemberGroup: "payments"}
	payments := metav1.ObjectMeta{Namespace: i.namespace, Name: "payments"}
	of := v1alpha1.LocalRef{Name: i.team.Name}
	i.rule = &v1alpha1.TerdutEscalationRule{ObjectMeta: payments, Spec: v1alpha1.TerdutEscalationRuleSpec{
		TeamRef: of, RepeatCount: 2, Levels: []v1alpha1.EscalationLevel{
			{Timeout: "5m", Targets: []v1alpha1.EscalationTarget{{Kind: v1alpha1.TargetOnCall}}},
		},
	}}
	i.deadman = &v1alpha1.TerdutDeadmanSwitch{ObjectMeta: payments, Spec: v1alpha1.TerdutDeadmanSwitchSpec{
		TeamRef: of, Name: "watchdog", Matcher: "alertname=Watchdog", Timeout: "15m", Severity: "critical",
	}}
	i.source = &v1alpha1.TerdutAlertSource{ObjectMeta: payments, Spec: v1alpha1.TerdutAlertSourceSpec{
		TeamRef: of, Name: "alerts", Kind: v1alpha1.AlertSourceAlertmanager,
	}}
	i.objects = []client.Object{i.team, i.rule, i.deadman, i.source}
	return i
}

func (i *install) teamIn(namespace, name, displayName string) *v1alpha1.TerdutTeam {
	t := &v1alpha1.TerdutTeam{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	t.Spec.ServerRef = v1alpha1.ServerRef{Name: i.server.Name, Namespace: i.namespace}
	t.Spec.DisplayName = displayName
	return t
}

// full creates one of each kind and waits for them.
func (i *install) full(ctx context.Context) {
	GinkgoHelper()
	create(ctx, i.objects...)
	eventuallyReady(ctx, i.objects...)
}

// expectOneOfEach: the server has what the spec asks, once.
func (i *install) expectOneOfEach(ctx context.Context) {
	GinkgoHelper()
	for _, o := range i.objects {
		Expect(read(ctx, o)).To(Succeed())
	}
	id := i.team.Status.TeamID
	Expect(i.proxy.Teams()).To(ConsistOf(And(HaveField("ID", id), HaveField("Name", "Payments"), HaveField("MemberGroup", "payments"))))
	Expect(i.proxy.Escalation(id).Levels).To(HaveLen(1))
	Expect(i.proxy.Switches(id)).To(ConsistOf(And(HaveField("ID", i.deadman.Status.SwitchID), HaveField("Name", "watchdog"))))
	Expect(i.proxy.Integrations(id)).To(ConsistOf(And(HaveField("ID", i.source.Status.IntegrationID), HaveField("Name", "alerts"))))
	Expect(i.proxy.IntegrationID(i.published(ctx))).To(Equal(i.source.Status.IntegrationID), "the key that is published is the live one")
}

// published is the key in the webhook Secret.
func (i *install) published(ctx context.Context) string {
	GinkgoHelper()
	secret := &corev1.Secret{}
	name := i.source.Status.WebhookURLSecretRef.Name
	Expect(env.Admin.Get(ctx, client.ObjectKey{Namespace: i.namespace, Name: name}, secret)).To(Succeed())
	return string(secret.Data["key"])
}

// api tells the calls about what lives on the server. The server's own health,
// and its opinion of the operator's key, are asked about elsewhere.
func api(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api/teams") }

func namespace(ctx context.Context) string {
	GinkgoHelper()
	name, err := env.Namespace(ctx, "bad", nil)
	Expect(err).NotTo(HaveOccurred())
	return name
}

func create(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(env.Admin.Create(ctx, o)).To(Succeed())
	}
}

func remove(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(env.Admin.Delete(ctx, o)).To(Succeed())
	}
}

func read(ctx context.Context, o client.Object) error {
	return env.Admin.Get(ctx, client.ObjectKeyFromObject(o), o)
}

func eventuallyGone(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Eventually(func() bool { return apierrors.IsNotFound(read(ctx, o)) }).Should(BeTrue(), "%T %s: %+v", o, o.GetName(), conditions(o))
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

// told is a condition as "Status Reason", of the generation that is there now.
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

// versions are the resourceVersions of objects as they are now.
func versions(ctx context.Context, objects ...client.Object) map[string]string {
	GinkgoHelper()
	out := map[string]string{}
	for _, o := range objects {
		Expect(read(ctx, o)).To(Succeed())
		out[fmt.Sprintf("%T", o)] = o.GetResourceVersion()
	}
	return out
}
