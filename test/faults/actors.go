package faults

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// actors does one step of what others do beside the operator: pods become
// ready, garbage is collected, namespaces end. It tells whether anything changed.
func (l *loop) actors() (bool, error) {
	before := l.world.Revision()
	list := &appsv1.DeploymentList{}
	if err := l.User.List(context.Background(), list); err != nil {
		return false, fmt.Errorf("list Deployments: %w", err)
	}
	for i := range list.Items {
		d := &list.Items[i]
		pods := ptr.Deref(d.Spec.Replicas, 1)
		if d.Status.ObservedGeneration == d.Generation && d.Status.AvailableReplicas == pods {
			continue
		}
		d.Status = appsv1.DeploymentStatus{
			ObservedGeneration: d.Generation, Replicas: pods, UpdatedReplicas: pods, ReadyReplicas: pods, AvailableReplicas: pods,
		}
		if err := client.IgnoreNotFound(l.User.Status().Update(context.Background(), d)); err != nil {
			return false, fmt.Errorf("write the status of Deployment %s: %w", d.Name, err)
		}
	}
	l.world.Step()
	return l.world.Revision() != before, nil
}

// recorder keeps Events as lines.
type recorder struct{ run *Run }

// Eventf implements events.EventRecorder.
func (e recorder) Eventf(about, _ runtime.Object, kind, reason, _, note string, args ...any) {
	name := ""
	if o, ok := about.(client.Object); ok {
		name = client.ObjectKeyFromObject(o).String()
	}
	e.run.Noted(fmt.Sprintf("%T %s: %s %s: %s", about, name, kind, reason, fmt.Sprintf(note, args...)))
}

// AnnotatedEventf implements events.AnnotatedEventRecorder.
func (e recorder) AnnotatedEventf(about, related runtime.Object, _ map[string]string, kind, reason, action, note string, args ...any) {
	e.Eventf(about, related, kind, reason, action, note, args...)
}
