package policies_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

func runOperator() {
	GinkgoHelper()
	_, err := env.StartOperator(controllers.Options{Resync: resync, Limits: connect.Limits{Patience: resync}, Clock: clock.now})
	Expect(err).NotTo(HaveOccurred())
}

// install is a server that admits everybody, and a tenant with one of each
// kind on it.
type install struct {
	*sample.Full
	platform, tenant string
	peer             *testenv.Peer
	server           *v1alpha1.TerdutServer
}

// all is what lives on the server, the team last.
func (i *install) all() []client.Object { return append(i.Children(), i.Team) }

// newInstall makes an install and waits until everything in it is ready.
func newInstall(ctx context.Context, policy v1alpha1.DeletionPolicy) *install {
	GinkgoHelper()
	on := env.NewInstall(ctx, refserver.Options{}, sample.AdmitAll)
	i := &install{
		Full:     sample.FullOf(sample.NamedTeam(on.Server, on.Tenant, "payments", "Payments")),
		platform: on.Platform, tenant: on.Tenant, peer: on.Peer, server: on.Server,
	}
	for _, o := range i.Children() {
		o.SetName("payments")
	}
	i.Team.Spec.DeletionPolicy, i.Rule.Spec.DeletionPolicy = policy, policy
	i.Switch.Spec.DeletionPolicy, i.Source.Spec.DeletionPolicy = policy, policy
	env.Create(ctx, i.Objects()...)
	eventuallyReady(ctx, append(i.all(), i.server)...)
	return i
}

// webhook is the Secret of the source.
func (i *install) webhook() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: i.tenant, Name: i.Source.Status.WebhookURLSecretRef.Name}}
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

// annotate sets an annotation; an empty value takes it away.
func annotate(ctx context.Context, key, value string, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		steps.Change(ctx, env, o, func(o client.Object) {
			a := o.GetAnnotations()
			if a == nil {
				a = map[string]string{}
			}
			if a[key] = value; value == "" {
				delete(a, key)
			}
			o.SetAnnotations(a)
		})
	}
}

// reconciled is the annotation that was obeyed last.
func reconciled(o client.Object) string {
	switch o := o.(type) {
	case *v1alpha1.TerdutServer:
		return o.Status.Reconciled
	case *v1alpha1.TerdutTeam:
		return o.Status.Reconciled
	case *v1alpha1.TerdutEscalationRule:
		return o.Status.Reconciled
	case *v1alpha1.TerdutDeadmanSwitch:
		return o.Status.Reconciled
	case *v1alpha1.TerdutAlertSource:
		return o.Status.Reconciled
	default:
		panic(fmt.Sprintf("%T is not reconciled", o))
	}
}

// eventuallyTold waits for a condition, "Status Reason", of any generation: what
// is paused does not look at the last one. Empty means that it is not there.
func eventuallyTold(ctx context.Context, o client.Object, conditionType, want string) {
	GinkgoHelper()
	Eventually(func() string {
		if err := env.Read(ctx, o); err != nil {
			return err.Error()
		}
		c := meta.FindStatusCondition(steps.Conditions(o), conditionType)
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
