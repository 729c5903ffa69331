package badinput_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
)

// install is one server behind its proxy, and one of each kind that lives on it.
type install struct {
	*sample.Full
	namespace string
	server    *v1alpha1.TerdutServer
	proxy     *proxy
}

// newInstall makes a server and waits until the operator has its key. What is
// to live on it is prepared and not created.
func newInstall(ctx context.Context) *install {
	GinkgoHelper()
	i := &install{namespace: namespace(ctx)}
	var err error
	i.proxy, err = network.serve(i.namespace, "terdut")
	Expect(err).NotTo(HaveOccurred())
	i.server = sample.Server(i.namespace)
	sample.AdmitAll(i.server)
	env.Create(ctx, sample.Password(i.namespace), i.server)
	env.EventuallyReady(ctx, i.server)

	i.Full = sample.FullOf(i.teamIn(i.namespace, "payments", "Payments"))
	i.Team.Spec.OIDC = &v1alpha1.TeamOIDC{MemberGroup: "payments"}
	return i
}

func (i *install) teamIn(namespace, name, displayName string) *v1alpha1.TerdutTeam {
	return sample.NamedTeam(i.server, namespace, name, displayName)
}

// full creates one of each kind and waits for them.
func (i *install) full(ctx context.Context) {
	GinkgoHelper()
	env.Create(ctx, i.Objects()...)
	env.EventuallyReady(ctx, i.Objects()...)
}

// expectOneOfEach: the server has what the spec asks, once.
func (i *install) expectOneOfEach(ctx context.Context) {
	GinkgoHelper()
	for _, o := range i.Objects() {
		Expect(env.Read(ctx, o)).To(Succeed())
	}
	id := i.Team.Status.TeamID
	Expect(i.proxy.Teams()).To(ConsistOf(And(HaveField("ID", id), HaveField("Name", "Payments"), HaveField("MemberGroup", "payments"))))
	Expect(i.proxy.Escalation(id).Levels).To(HaveLen(1))
	Expect(i.proxy.Switches(id)).To(ConsistOf(And(HaveField("ID", i.Switch.Status.SwitchID), HaveField("Name", "watchdog"))))
	Expect(i.proxy.Integrations(id)).To(ConsistOf(And(HaveField("ID", i.Source.Status.IntegrationID), HaveField("Name", "alerts"))))
	Expect(i.proxy.IntegrationID(i.published(ctx))).To(Equal(i.Source.Status.IntegrationID), "the key that is published is the live one")
}

// published is the key in the webhook Secret.
func (i *install) published(ctx context.Context) string {
	GinkgoHelper()
	secret := &corev1.Secret{}
	name := i.Source.Status.WebhookURLSecretRef.Name
	Expect(env.Admin.Get(ctx, client.ObjectKey{Namespace: i.namespace, Name: name}, secret)).To(Succeed())
	return string(secret.Data["key"])
}

// api tells the calls about what lives on the server. The server's own health,
// and its opinion of the operator's key, are asked about elsewhere.
func api(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api/teams") }

func namespace(ctx context.Context) string {
	GinkgoHelper()
	return env.NewNamespace(ctx, "bad", nil)
}

// versions are the resourceVersions of objects as they are now.
func versions(ctx context.Context, objects ...client.Object) map[string]string {
	GinkgoHelper()
	out := map[string]string{}
	for _, o := range objects {
		Expect(env.Read(ctx, o)).To(Succeed())
		out[fmt.Sprintf("%T", o)] = o.GetResourceVersion()
	}
	return out
}
