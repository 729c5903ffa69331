package steps

import (
	"context"
	"fmt"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// NewNamespace makes a namespace with a generated name and those labels, and
// returns the name.
func (e *Env) NewNamespace(ctx context.Context, prefix string, labels map[string]string) string {
	ginkgo.GinkgoHelper()
	name, err := e.Namespace(ctx, prefix, labels)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return name
}

// Create creates objects, one after the other.
func (e *Env) Create(ctx context.Context, objects ...client.Object) {
	ginkgo.GinkgoHelper()
	for _, o := range objects {
		gomega.Expect(e.Admin.Create(ctx, o)).To(gomega.Succeed(), "create %T %s%s", o, o.GetName(), o.GetGenerateName())
	}
}

// Read reads an object as it is now, past every cache. Its error is for
// Eventually and for matchers.
func (e *Env) Read(ctx context.Context, o client.Object) error {
	return e.Admin.Get(ctx, client.ObjectKeyFromObject(o), o)
}

// Change changes an object as it is now, again when somebody was faster.
func Change[T client.Object](ctx context.Context, e *Env, o T, f func(T)) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(func() error {
		if err := e.Read(ctx, o); err != nil {
			return err
		}
		f(o)
		return e.Admin.Update(ctx, o)
	}).Should(gomega.Succeed(), describing(o))
}

// Remove asks for the deletion of objects, and does not wait for it.
func (e *Env) Remove(ctx context.Context, objects ...client.Object) {
	ginkgo.GinkgoHelper()
	for _, o := range objects {
		gomega.Expect(e.Admin.Delete(ctx, o)).To(gomega.Succeed(), "delete %T %s", o, o.GetName())
	}
}

// EventuallyGone waits until no object is there any more.
func (e *Env) EventuallyGone(ctx context.Context, objects ...client.Object) {
	ginkgo.GinkgoHelper()
	for _, o := range objects {
		gomega.Eventually(func() bool { return apierrors.IsNotFound(e.Read(ctx, o)) }).Should(gomega.BeTrue(), describing(o))
	}
}

// Told reads a condition as "Status Reason", of the generation that is there
// now; empty when it is missing or speaks of another generation.
func (e *Env) Told(ctx context.Context, o client.Object, conditionType string) func() string {
	return func() string {
		if err := e.Read(ctx, o); err != nil {
			return err.Error()
		}
		c := meta.FindStatusCondition(Conditions(o), conditionType)
		if c == nil || c.ObservedGeneration != o.GetGeneration() {
			return ""
		}
		return string(c.Status) + " " + c.Reason
	}
}

// EventuallyTold waits for a condition, "Status Reason", of the generation that
// is there now. Empty waits until nothing is told.
func (e *Env) EventuallyTold(ctx context.Context, o client.Object, conditionType, want string) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(e.Told(ctx, o, conditionType)).Should(gomega.Equal(want), describing(o))
}

// EventuallyReady waits until all objects are, as they are now.
func (e *Env) EventuallyReady(ctx context.Context, objects ...client.Object) {
	ginkgo.GinkgoHelper()
	for _, o := range objects {
		e.EventuallyTold(ctx, o, v1alpha1.ConditionReady, "True "+v1alpha1.ReasonReady)
	}
}

// EventuallyEvent waits for an Event, "Type Reason: note", about an object.
func (e *Env) EventuallyEvent(ctx context.Context, o client.Object, want gomegatypes.GomegaMatcher) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(func() ([]string, error) { return e.Events(ctx, o) }).Should(gomega.ContainElement(want), describing(o))
}

// Conditions are those of an object that was read. It panics for what is none of
// the five kinds.
func Conditions(o client.Object) []metav1.Condition {
	conditions, ok := conditionsOf(o)
	if !ok {
		panic(fmt.Sprintf("%T has no conditions", o))
	}
	return conditions
}

func conditionsOf(o client.Object) (conditions []metav1.Condition, ok bool) {
	switch o := o.(type) {
	case *v1alpha1.TerdutServer:
		return o.Status.Conditions, true
	case *v1alpha1.TerdutTeam:
		return o.Status.Conditions, true
	case *v1alpha1.TerdutEscalationRule:
		return o.Status.Conditions, true
	case *v1alpha1.TerdutDeadmanSwitch:
		return o.Status.Conditions, true
	case *v1alpha1.TerdutAlertSource:
		return o.Status.Conditions, true
	default:
		return nil, false
	}
}

// Message is what a condition of an object that was read says; empty when it is
// missing.
func Message(o client.Object, conditionType string) string {
	if c := meta.FindStatusCondition(Conditions(o), conditionType); c != nil {
		return c.Message
	}
	return ""
}

// state is what an object that was read says for itself.
func state(o client.Object) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%T %s of generation %d", o, client.ObjectKeyFromObject(o), o.GetGeneration())
	if at := o.GetDeletionTimestamp(); at != nil {
		fmt.Fprintf(&text, ", being deleted, held by %q", o.GetFinalizers())
	}
	conditions, _ := conditionsOf(o)
	for _, c := range conditions {
		fmt.Fprintf(&text, "\n  %s=%s %s of generation %d: %s", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.Message)
	}
	return text.String()
}

// describing is the state at the moment of the failure.
func describing(o client.Object) func() string {
	return func() string { return state(o) }
}
