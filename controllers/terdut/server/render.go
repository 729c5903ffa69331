package server

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	children := []runtime.ApplyConfiguration{renderService(&in), renderDeployment(&in)}
	if in.Route {
		children = append(children, renderRoute(&in))
	}
	return children
}

// labels stand on every child.
func labels(server string) map[string]string {
	return map[string]string{
		v1alpha1.LabelName:      v1alpha1.AppName,
		v1alpha1.LabelInstance:  server,
		v1alpha1.LabelManagedBy: v1alpha1.ManagedBy,
	}
}

// selector finds the pods of a server. A Deployment's selector cannot change,
// so that of one that was taken over stays.
func selector(in *Inputs) *metav1.LabelSelector {
	if in.Selector != nil {
		return in.Selector
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{
		v1alpha1.LabelName:     v1alpha1.AppName,
		v1alpha1.LabelInstance: in.Name,
	}}
}

// serviceSelector finds the same pods, those of before a takeover among them:
// they serve until the new ones do.
func serviceSelector(in *Inputs) map[string]string {
	if labels := selector(in).MatchLabels; len(labels) > 0 {
		return labels
	}
	return map[string]string{v1alpha1.LabelName: v1alpha1.AppName, v1alpha1.LabelInstance: in.Name}
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
