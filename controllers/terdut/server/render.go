package server

import (
	"k8s.io/apimachinery/pkg/runtime"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// Render gives the children of a server, each whole, in the order in which
// they are made. It is pure. Nothing in it is a zero value, and everything is
// spelled as the API server stores it, so that what is owned of the live object
// equals what is rendered.
//
// The Secret with the operator's key is not among them: it is made where the
// key is obtained.
func Render(in Inputs) []runtime.ApplyConfiguration {
	return []runtime.ApplyConfiguration{renderService(&in), renderDeployment(&in)}
}

// labels stand on every child.
func labels(server string) map[string]string {
	set := selector(server)
	set[v1alpha1.LabelManagedBy] = v1alpha1.ManagedBy
	return set
}

// selector finds the pods of a server. It never changes: a Deployment's
// selector cannot.
func selector(server string) map[string]string {
	return map[string]string{
		v1alpha1.LabelName:     v1alpha1.AppName,
		v1alpha1.LabelInstance: server,
	}
}

// owner is the reference by which the garbage collector takes a child along.
func owner(in *Inputs) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(v1alpha1.SchemeGroupVersion.String()).
		WithKind("TerdutServer").
		WithName(in.Name).
		WithUID(in.UID).
		WithController(true).
		WithBlockOwnerDeletion(true)
}
