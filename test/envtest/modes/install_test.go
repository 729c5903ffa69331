package modes_test

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

// install is one server in the platform team's namespace and a tenant that it
// admits.
type install struct{ *steps.Install }

// newInstall makes an install with a mode, and a server that lacks some
// capabilities.
func newInstall(ctx context.Context, mode v1alpha1.CredentialsMode, lacks ...string) *install {
	GinkgoHelper()
	offered := refserver.AllCapabilities()
	for _, name := range lacks {
		Expect(offered.TurnOff(name)).To(BeTrue())
	}
	return &install{Install: env.ReadyInstall(ctx, refserver.Options{Capabilities: &offered}, func(s *v1alpha1.TerdutServer) {
		s.Spec.Credentials = &v1alpha1.ServerCredentials{Mode: mode, GracePeriod: ptr.To(v1alpha1.Grace("0s"))}
	})}
}

// setMode changes the mode and returns once the status says that it is in
// effect.
func (i *install) setMode(ctx context.Context, mode, effective v1alpha1.CredentialsMode) {
	GinkgoHelper()
	steps.Change(ctx, env, i.Server, func(s *v1alpha1.TerdutServer) { s.Spec.Credentials.Mode = mode })
	Eventually(i.mode(ctx)).Should(Equal(effective))
}

func (i *install) mode(ctx context.Context) func() (v1alpha1.CredentialsMode, error) {
	return func() (v1alpha1.CredentialsMode, error) {
		if err := env.Read(ctx, i.Server); err != nil || i.Server.Status.Credentials == nil {
			return "", err
		}
		return i.Server.Status.Credentials.Mode, nil
	}
}

// team makes a team and waits for it.
func (i *install) team(ctx context.Context, namespace, displayName string) *v1alpha1.TerdutTeam {
	GinkgoHelper()
	t := i.TeamIn(namespace, displayName)
	env.Create(ctx, t)
	Eventually(func() int64 {
		if err := env.Read(ctx, t); err != nil {
			return 0
		}
		return t.Status.TeamID
	}).ShouldNot(BeZero())
	return t
}

// accounts are the service accounts that reach one team.
func (i *install) accounts() []model.Account {
	return slices.DeleteFunc(i.Peer.Accounts(), func(a model.Account) bool { return a.TeamID == 0 })
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
	return secret(ctx, namespace, v1alpha1.MirrorSecretName(i.Server.Name, i.Platform))
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
	return key(secret(ctx, i.Platform, v1alpha1.CredentialsSecretName(i.Server.Name)))
}

// hasKey waits until a team has a key of its own, and returns it.
func (i *install) hasKey(ctx context.Context, t *v1alpha1.TerdutTeam) string {
	GinkgoHelper()
	env.EventuallyTold(ctx, t, v1alpha1.ConditionCredentialsReady, "True KeyIssued")
	found := keySecret(ctx, t)
	Expect(found).NotTo(BeNil())
	Expect(i.Peer.KeyID(key(found))).NotTo(BeZero())
	Expect(found.Annotations[v1alpha1.AnnotationKeyID]).To(Equal(strconv.FormatInt(i.Peer.KeyID(key(found)), 10)))
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
		Expect(env.Read(ctx, t)).To(Succeed())
		return t.Status.Credentials
	}).Should(BeNil())
	Expect(keySecret(ctx, t)).To(BeNil())
	Expect(i.accounts()).NotTo(ContainElement(HaveField("TeamID", t.Status.TeamID)))
	Eventually(env.Told(ctx, t, v1alpha1.ConditionReady)).Should(Equal("True Ready"))
	Eventually(env.Told(ctx, t, v1alpha1.ConditionCredentialsReady)).Should(BeEmpty())
}

// ask sends a request with a key and returns the status of the answer.
func (i *install) ask(ctx context.Context, key, path string) int {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://terdut"+path, nil)
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Authorization", "Bearer "+key)
	answer, err := i.Peer.Transport().RoundTrip(request)
	Expect(err).NotTo(HaveOccurred())
	Expect(answer.Body.Close()).To(Succeed())
	return answer.StatusCode
}

// admit sets or takes away the label that the servers here ask for.
func admit(ctx context.Context, namespace string, admitted bool) {
	GinkgoHelper()
	steps.Change(ctx, env, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, func(ns *corev1.Namespace) {
		delete(ns.Labels, sample.Allowed)
		if admitted {
			ns.Labels[sample.Allowed] = "true"
		}
	})
}

// remove deletes objects and waits until they are gone.
func remove(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	env.Remove(ctx, objects...)
	env.EventuallyGone(ctx, objects...)
}
