package install_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/rbac"
)

// person is somebody who has a role of Kubernetes in the namespace of servers.
func (w *world) person(ctx context.Context, role string) string {
	GinkgoHelper()
	name := role + "-of-" + w.oncall
	Expect(client.IgnoreAlreadyExists(admin.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.oncall, Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}))).To(Succeed())
	return name
}

// may asks the API server whether somebody may do something there.
func (w *world) may(ctx context.Context, person string, r rbac.Right) bool {
	GinkgoHelper()
	resource, subresource := r.Parts()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: person,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: w.oncall, Group: r.Group, Resource: resource, Subresource: subresource, Verb: r.Verb,
		},
	}}
	Expect(admin.Create(ctx, review)).To(Succeed())
	return review.Status.Allowed
}

// mayDo is all that somebody may do there with our kinds.
func (w *world) mayDo(ctx context.Context, person string) []rbac.Right {
	GinkgoHelper()
	var out []rbac.Right
	for _, kind := range []string{"terdutservers", "terdutteams", "terdutescalationrules", "terdutdeadmanswitches", "terdutalertsources"} {
		for _, resource := range []string{kind, kind + "/status", kind + "/finalizers", kind + "/scale"} {
			for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "approve", "*"} {
				if r := (rbac.Right{Group: v1alpha1.SchemeGroupVersion.Group, Resource: resource, Verb: verb}); w.may(ctx, person, r) {
					out = append(out, r)
				}
			}
		}
	}
	return out
}
