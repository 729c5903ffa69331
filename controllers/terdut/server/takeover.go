package server

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "k8s.io/api/apps/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
)

// selectorOf is the selector to render: that of the Deployment that there is,
// if it is the server's own or is to be taken over. It cannot change, and stays
// after spec.takeOver was removed.
func (r *Reconciler) selectorOf(ctx context.Context, server *v1alpha1.TerdutServer, own *appsv1.Deployment) (*metav1.LabelSelector, error) {
	if own != nil {
		return own.Spec.Selector, nil
	}
	if server.Spec.TakeOver != v1alpha1.TakeOverHelm {
		return nil, nil
	}
	return r.Engine.LiveSelector(ctx, apply.Key{
		Group: appsv1.GroupName, Version: "v1", Kind: "Deployment", Namespace: server.Namespace, Name: server.Name,
	})
}

// takeOver makes the objects of a Helm release the server's own, when the spec
// asks for it. Only what bears the name of a child is taken: the Secrets of the
// release stay what they are, and the spec may name them.
func (r *Reconciler) takeOver(ctx context.Context, server *v1alpha1.TerdutServer, in Inputs) error {
	if server.Spec.TakeOver != v1alpha1.TakeOverHelm {
		return nil
	}
	taken, err := r.Engine.TakeOver(ctx, server, Render(in), apply.Helm())
	for _, one := range taken {
		message := fmt.Sprintf("took over %s %s of the Helm release %s: do not uninstall that release, delete its storage Secrets", one.Key.Kind, one.Key.Name, one.Release)
		if len(one.Forced) > 0 {
			message += "; taken from others: " + named(fieldsOf(one.Key, one.Forced))
		}
		if len(one.Ceded) > 0 {
			message += "; left to others: " + named(fieldsOf(one.Key, one.Ceded))
		}
		status.Emit(r.Recorder, server, status.Event{Reason: v1alpha1.EventTakenOver, Message: message})
	}
	return err
}

func fieldsOf(key apply.Key, drifts []apply.FieldDrift) []apply.Field {
	fields := make([]apply.Field, 0, len(drifts))
	for _, drift := range drifts {
		fields = append(fields, apply.Field{Key: key, FieldDrift: drift})
	}
	return fields
}
