package rotation_test

import (
	"context"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// secret is a Secret of a namespace; an empty one where it does not exist.
func secret(ctx context.Context, namespace, name string) *corev1.Secret {
	GinkgoHelper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := env.Read(ctx, s); err != nil {
		Expect(apierrors.IsNotFound(err)).To(BeTrue())
		return &corev1.Secret{}
	}
	return s
}

// webhook is the Secret that the spec of a source asks for.
func webhook(ctx context.Context, s *v1alpha1.TerdutAlertSource) *corev1.Secret {
	GinkgoHelper()
	return secret(ctx, s.Namespace, s.WebhookSecret())
}

func urlOf(s *corev1.Secret) string { return string(s.Data[v1alpha1.WebhookURLKey]) }
func keyOf(s *corev1.Secret) string { return string(s.Data[v1alpha1.WebhookKeyKey]) }

// accepts tells whether the server takes an alert at a webhook address.
func accepts(address string) bool {
	GinkgoHelper()
	return env.Alert(address) < 300
}

// rotate asks for a new key.
func rotate(ctx context.Context, s *v1alpha1.TerdutAlertSource, token string) {
	GinkgoHelper()
	steps.Change(ctx, env, s, func(s *v1alpha1.TerdutAlertSource) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationRotate, token)
	})
}

// eventuallyRotated waits until a token is acknowledged and all is well.
func eventuallyRotated(ctx context.Context, s *v1alpha1.TerdutAlertSource, token string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(env.Read(ctx, s)).To(Succeed())
		g.Expect(s.Status.Rotated).To(Equal(token))
		g.Expect(s.Status.PendingCreate).To(BeNil())
	}).Should(Succeed())
	env.EventuallyReady(ctx, s)
}
