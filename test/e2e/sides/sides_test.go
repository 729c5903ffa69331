package sides

import (
	"context"
	"net/http"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

const (
	platform = "platform"
	tenant   = "tenant"
)

// pair is an installation whose two sides agree.
type pair struct {
	Cluster
	ctx     context.Context
	api     *terdutapi.Client
	account int64

	server  *v1alpha1.TerdutServer
	team    *v1alpha1.TerdutTeam
	rule    *v1alpha1.TerdutEscalationRule
	deadman *v1alpha1.TerdutDeadmanSwitch
	source  *v1alpha1.TerdutAlertSource
	webhook *corev1.Secret
}

func applied() v1alpha1.RemoteStatus {
	return v1alpha1.RemoteStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReady,
	}}}
}

func about(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name), Generation: 1}
}

func newPair(t *testing.T) *pair {
	t.Helper()
	g, p := NewWithT(t), &pair{ctx: t.Context()}
	reference, err := refserver.New(refserver.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	p.HTTP = &http.Client{Transport: reference.Transport()}
	_, key, err := reference.AddUser("admin", true)
	g.Expect(err).NotTo(HaveOccurred())
	p.api, err = p.Client("http://terdut.platform.svc:8080", key)
	g.Expect(err).NotTo(HaveOccurred())
	p.populate(g)

	owner := []metav1.OwnerReference{*metav1.NewControllerRef(p.server, v1alpha1.SchemeGroupVersion.WithKind("TerdutServer"))}
	deployment := &appsv1.Deployment{ObjectMeta: about(platform, "terdut")}
	deployment.OwnerReferences = owner
	deployment.Status.Replicas, deployment.Status.ReadyReplicas, deployment.Status.UpdatedReplicas = 1, 1, 1
	service := &corev1.Service{ObjectMeta: about(platform, "terdut")}
	service.OwnerReferences = owner
	credentials := &corev1.Secret{ObjectMeta: about(platform, v1alpha1.CredentialsSecretName("terdut"))}
	credentials.Data = map[string][]byte{v1alpha1.CredentialsKey: []byte(key)}
	p.Kube = fake.NewClientBuilder().WithScheme(controllers.Scheme()).WithObjects(
		p.server, p.team, p.rule, p.deadman, p.source, p.webhook, deployment, service, credentials).Build()
	return p
}

// populate makes one object of each kind on both sides.
func (p *pair) populate(g *WithT) {
	user, err := p.api.CreateUser(p.ctx, "alice", "alice@example.com")
	g.Expect(err).NotTo(HaveOccurred())
	account, err := p.api.CreateServiceAccount(p.ctx, terdutapi.CreateServiceAccountRequest{Name: "operator"})
	g.Expect(err).NotTo(HaveOccurred())
	p.account = account.ID
	team, err := p.api.CreateTeam(p.ctx, "Payments")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = p.api.PutEscalation(p.ctx, team.ID, terdutapi.EscalationPolicy{RepeatCount: 2, Levels: []terdutapi.EscalationLevel{
		{Timeout: "5m0s", Targets: []terdutapi.EscalationTarget{{Kind: terdutapi.TargetUser, UserID: &user.ID}}},
	}})
	g.Expect(err).NotTo(HaveOccurred())
	deadman, err := p.api.CreateDeadmanSwitch(p.ctx, team.ID, terdutapi.DeadmanSwitchRequest{
		Name: "watchdog", Matcher: "alertname=Watchdog", Timeout: "15m", Severity: "critical",
	})
	g.Expect(err).NotTo(HaveOccurred())
	source, err := p.api.CreateIntegration(p.ctx, team.ID, terdutapi.CreateIntegrationRequest{
		Kind: terdutapi.KindAlertmanager, Name: "prod",
	})
	g.Expect(err).NotTo(HaveOccurred())

	p.server = &v1alpha1.TerdutServer{ObjectMeta: about(platform, "terdut")}
	p.server.Spec.Networking.ServicePort = 8080
	p.server.Status.Conditions, p.server.Status.ObservedGeneration = applied().Conditions, 1
	p.team = &v1alpha1.TerdutTeam{ObjectMeta: about(tenant, "team")}
	p.team.Spec.ServerRef.Name, p.team.Spec.ServerRef.Namespace, p.team.Spec.DisplayName = "terdut", platform, "Payments"
	p.team.Status.RemoteStatus, p.team.Status.TeamID = applied(), team.ID
	p.rule = &v1alpha1.TerdutEscalationRule{ObjectMeta: about(tenant, "rule")}
	p.rule.Spec.TeamRef.Name, p.rule.Spec.RepeatCount = "team", 2
	p.rule.Spec.Levels = []v1alpha1.EscalationLevel{
		{Timeout: "5m", Targets: []v1alpha1.EscalationTarget{{Kind: "user", Username: "alice"}}},
	}
	p.rule.Status.RemoteStatus = applied()
	p.deadman = &v1alpha1.TerdutDeadmanSwitch{ObjectMeta: about(tenant, "switch")}
	p.deadman.Spec.TeamRef.Name, p.deadman.Spec.Name, p.deadman.Spec.Matcher = "team", "watchdog", "alertname=Watchdog"
	p.deadman.Spec.Timeout, p.deadman.Spec.Severity = "15m", "critical"
	p.deadman.Status.RemoteStatus, p.deadman.Status.SwitchID = applied(), deadman.ID
	p.source = &v1alpha1.TerdutAlertSource{ObjectMeta: about(tenant, "source")}
	p.source.Spec.TeamRef.Name, p.source.Spec.Name, p.source.Spec.Kind = "team", "prod", "alertmanager"
	p.source.Status.RemoteStatus, p.source.Status.IntegrationID = applied(), source.ID
	p.source.Status.WebhookURLSecretRef = &v1alpha1.LocalRef{Name: "webhook"}
	p.webhook = &corev1.Secret{ObjectMeta: about(tenant, "webhook")}
	p.webhook.Annotations = map[string]string{v1alpha1.AnnotationIntegrationID: strconv.FormatInt(source.ID, 10)}
	p.webhook.Data = map[string][]byte{
		v1alpha1.WebhookURLKey: []byte("u"), v1alpha1.WebhookKeyKey: []byte("k"), v1alpha1.WebhookInternalURLKey: []byte("i"),
	}
}

// TestAgreement is what the differences below differ from.
func TestAgreement(t *testing.T) {
	g, p := NewWithT(t), newPair(t)
	compared, err := p.Compare(p.ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(compared).To(Equal(Compared{Resources: 5, Objects: 4}))
}

// TestDifferences makes the two sides differ in one thing at a time.
func TestDifferences(t *testing.T) {
	update := func(obj func(*pair) client.Object) func(*pair) error {
		return func(p *pair) error { return p.Kube.Update(p.ctx, obj(p)) }
	}
	for name, c := range map[string]struct {
		change func(*pair) error
		want   string
	}{
		"a team too many": {func(p *pair) error { _, err := p.api.CreateTeam(p.ctx, "Stray"); return err }, "which no resource holds"},
		"another name of the team": {func(p *pair) error {
			_, err := p.api.RenameTeam(p.ctx, p.team.Status.TeamID, "Other")
			return err
		}, `is "Other" on the server, want "Payments"`},
		"no switch": {func(p *pair) error {
			return p.api.DeleteDeadmanSwitch(p.ctx, p.team.Status.TeamID, p.deadman.Status.SwitchID)
		}, "which the server does not have"},
		"another time-out": {update(func(p *pair) client.Object { p.deadman.Spec.Timeout = "16m"; return p.deadman }), "want"},
		"an integration too many": {func(p *pair) error {
			_, err := p.api.CreateIntegration(p.ctx, p.team.Status.TeamID,
				terdutapi.CreateIntegrationRequest{Kind: terdutapi.KindAlertmanager, Name: "second"})
			return err
		}, "the server has integration"},
		"another policy": {func(p *pair) error {
			_, err := p.api.PutEscalation(p.ctx, p.team.Status.TeamID, terdutapi.EscalationPolicy{RepeatCount: 2})
			return err
		}, "the policy is"},
		"another number of repeats": {update(func(p *pair) client.Object { p.rule.Spec.RepeatCount = 3; return p.rule }), "repeated"},
		"a key too many": {func(p *pair) error {
			_, err := p.api.CreateServiceAccountKey(p.ctx, p.account, terdutapi.CreateKeyRequest{Name: "leaked"})
			return err
		}, "2 live keys"},
		"the Secret of another integration": {update(func(p *pair) client.Object {
			p.webhook.Annotations[v1alpha1.AnnotationIntegrationID] = "77"
			return p.webhook
		}), "is for integration 77"},
		"half a Secret": {update(func(p *pair) client.Object {
			delete(p.webhook.Data, v1alpha1.WebhookKeyKey)
			return p.webhook
		}), "has no key"},
		"a resource that is not ready": {update(func(p *pair) client.Object {
			p.source.Status.Conditions[0].Status = metav1.ConditionFalse
			return p.source
		}), "is not ready"},
		"a generation that was not applied": {update(func(p *pair) client.Object { p.team.Status.ObservedGeneration = 0; return p.team }), "generation 0"},
		"refused all the same":              {func(p *pair) error { p.Refused = []string{tenant}; return nil }, "is not refused"},
	} {
		t.Run(name, func(t *testing.T) {
			g, p := NewWithT(t), newPair(t)
			g.Expect(c.change(p)).To(Succeed())
			_, err := p.Compare(p.ctx)
			g.Expect(err).To(MatchError(ContainSubstring(c.want)))
		})
	}
}
