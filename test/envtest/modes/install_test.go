package modes_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
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

// newInstall makes an install with a mode, and a server that lacks some
// capabilities.
func newInstall(ctx context.Context, mode v1alpha1.CredentialsMode, lacks ...string) *install {
	GinkgoHelper()
	i := &install{platform: namespace(ctx, "platform", nil), tenant: namespace(ctx, "tenant", map[string]string{allowed: "true"})}
	offered := refserver.AllCapabilities()
	for _, name := range lacks {
		Expect(offered.TurnOff(name)).To(BeTrue())
	}
	var err error
	i.peer, err = env.Network.Serve(i.platform, "terdut", refserver.Options{Capabilities: &offered})
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
	i.server.Spec.Credentials = &v1alpha1.ServerCredentials{Mode: mode, GracePeriod: ptr.To(v1alpha1.Grace("0s"))}
	create(ctx, i.server)
	eventuallyTold(ctx, i.server, v1alpha1.ConditionReady, "True Ready")
	return i
}

// setMode changes the mode and returns once the status says that it is in
// effect.
func (i *install) setMode(ctx context.Context, mode, effective v1alpha1.CredentialsMode) {
	GinkgoHelper()
	change(ctx, i.server, func(s *v1alpha1.TerdutServer) { s.Spec.Credentials.Mode = mode })
	Eventually(i.mode(ctx)).Should(Equal(effective))
}

func (i *install) mode(ctx context.Context) func() (v1alpha1.CredentialsMode, error) {
	return func() (v1alpha1.CredentialsMode, error) {
		if err := read(ctx, i.server); err != nil || i.server.Status.Credentials == nil {
			return "", err
		}
		return i.server.Status.Credentials.Mode, nil
	}
}

// team makes a team and waits for it.
func (i *install) team(ctx context.Context, namespace, displayName string) *v1alpha1.TerdutTeam {
	GinkgoHelper()
	t := &v1alpha1.TerdutTeam{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "team-"}}
	t.Spec.ServerRef = v1alpha1.ServerRef{Name: i.server.Name, Namespace: i.platform}
	t.Spec.DisplayName = displayName
	create(ctx, t)
	Eventually(func() int64 {
		if err := read(ctx, t); err != nil {
			return 0
		}
		return t.Status.TeamID
	}).ShouldNot(BeZero())
	return t
}

// accounts are the service accounts that reach one team.
func (i *install) accounts() []model.Account {
	return slices.DeleteFunc(i.peer.Accounts(), func(a model.Account) bool { return a.TeamID == 0 })
}

// secret is a Secret, or nil.
func secret(ctx context.Context, namespace, name string) *corev1.Secret {
	GinkgoHelper()
	s := &corev1.Secret{}
	err := env.Admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, s)
	if apierrors.IsNotFound(err) {
		return nil
	}
	Expect(err).NotTo(HaveOccurred())
	return s
}

func (i *install) mirror(ctx context.Context, namespace string) *corev1.Secret {
	GinkgoHelper()
	return secret(ctx, namespace, v1alpha1.MirrorSecretName(i.server.Name, i.platform))
}

func keySecret(ctx context.Context, t *v1alpha1.TerdutTeam) *corev1.Secret {
	GinkgoHelper()
	return secret(ctx, t.Namespace, v1alpha1.TeamCredentialsSecretName(t.Name))
}

func key(s *corev1.Secret) string {
	if s == nil {
		return ""
	}
	return string(s.Data[v1alpha1.CredentialsKey])
}

// operatorKey is the key that the operator uses.
func (i *install) operatorKey(ctx context.Context) string {
	GinkgoHelper()
	return key(secret(ctx, i.platform, v1alpha1.CredentialsSecretName(i.server.Name)))
}

// hasKey waits until a team has a key of its own, and returns it.
func (i *install) hasKey(ctx context.Context, t *v1alpha1.TerdutTeam) string {
	GinkgoHelper()
	eventuallyTold(ctx, t, v1alpha1.ConditionCredentialsReady, "True KeyIssued")
	found := keySecret(ctx, t)
	Expect(found).NotTo(BeNil())
	Expect(i.peer.KeyID(key(found))).NotTo(BeZero())
	Expect(found.Annotations[v1alpha1.AnnotationKeyID]).To(Equal(strconv.FormatInt(i.peer.KeyID(key(found)), 10)))
	return key(found)
}

// hasMirror waits until a namespace has a copy of the operator's key.
func (i *install) hasMirror(ctx context.Context, namespace string) {
	GinkgoHelper()
	Eventually(func() string { return key(i.mirror(ctx, namespace)) }).Should(And(Not(BeEmpty()), Equal(i.operatorKey(ctx))))
}

func (i *install) hasNoMirror(ctx context.Context, namespace string) {
	GinkgoHelper()
	Eventually(func() *corev1.Secret { return i.mirror(ctx, namespace) }).Should(BeNil())
}

// hasNoKey waits until a team has no key of its own, on neither side.
func (i *install) hasNoKey(ctx context.Context, t *v1alpha1.TerdutTeam) {
	GinkgoHelper()
	Eventually(func() *v1alpha1.TeamCredentials {
		Expect(read(ctx, t)).To(Succeed())
		return t.Status.Credentials
	}).Should(BeNil())
	Expect(keySecret(ctx, t)).To(BeNil())
	Expect(i.accounts()).NotTo(ContainElement(HaveField("TeamID", t.Status.TeamID)))
	Eventually(told(ctx, t, v1alpha1.ConditionReady)).Should(Equal("True Ready"))
	Eventually(told(ctx, t, v1alpha1.ConditionCredentialsReady)).Should(BeEmpty())
}

// ask sends a request with a key and returns the status of the answer.
func (i *install) ask(ctx context.Context, key, path string) int {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://terdut"+path, nil)
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Authorization", "Bearer "+key)
	answer, err := i.peer.Transport().RoundTrip(request)
	Expect(err).NotTo(HaveOccurred())
	Expect(answer.Body.Close()).To(Succeed())
	return answer.StatusCode
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

// admit sets or takes away the label that the servers here ask for.
func admit(ctx context.Context, namespace string, admitted bool) {
	GinkgoHelper()
	change(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, func(ns *corev1.Namespace) {
		delete(ns.Labels, allowed)
		if admitted {
			ns.Labels[allowed] = "true"
		}
	})
}

func remove(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(env.Admin.Delete(ctx, o)).To(Succeed())
	}
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

func eventuallyEvent(ctx context.Context, o client.Object, want gomegatypes.GomegaMatcher) {
	GinkgoHelper()
	Eventually(func() ([]string, error) { return env.Events(ctx, o) }).Should(ContainElement(want))
}
