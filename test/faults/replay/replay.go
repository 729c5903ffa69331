// Package replay is one list of requests to an API server, faults included, and
// what was answered. The same list is played to package world and to a real API
// server; a difference is a mistake of the world.
package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Answer is what one request came to.
type Answer struct {
	// Request says what was asked.
	Request string
	// Code is the HTTP status, 200 for every success.
	Code int32
	// Causes are types and fields of the causes of an error.
	Causes []string
	// Effect says what became of the object: whether it is there, was written,
	// its generation, finalizers, and whether it is being deleted.
	Effect string
}

// String is one line.
func (a Answer) String() string {
	return fmt.Sprintf("%s: %d %s; %s", a.Request, a.Code, strings.Join(a.Causes, ","), a.Effect)
}

// Player plays the list.
type Player struct {
	// Client sends every request.
	Client client.Client
	// Settle waits until controllers of Kubernetes have nothing left to do about
	// an object: until gone says so.
	Settle func(gone func() bool)

	answers []Answer
}

// Play plays the whole list. An error is one of the player, not an answer.
func (p *Player) Play(ctx context.Context) (answers []Answer, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("play: %v", reason)
		}
	}()
	p.answers = nil
	p.create(ctx, object("v1", "Namespace", "", "replay"))
	p.secrets(ctx)
	p.finalizers(ctx)
	p.customResources(ctx)
	p.fixedFields(ctx)
	p.garbage(ctx)
	p.namespaces(ctx)
	return p.answers, nil
}

// object is a small one of a kind.
func object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// with sets a field of an object.
func with(o *unstructured.Unstructured, value any, path ...string) *unstructured.Unstructured {
	if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
		panic(err) // the list itself is wrong
	}
	return o
}

// live is an object as it is now, or nil.
func (p *Player) live(ctx context.Context, o *unstructured.Unstructured) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(o.GroupVersionKind())
	err := p.Client.Get(ctx, client.ObjectKeyFromObject(o), out)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		panic(err) // the connection is broken
	}
	return out
}

// ask sends one request and keeps the answer.
func (p *Player) ask(ctx context.Context, what string, o *unstructured.Unstructured, do func() error) {
	before := p.live(ctx, o)
	err := do()
	a := Answer{Request: what, Code: 200, Effect: effect(before, p.live(ctx, o))}
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status):
		a.Code = status.Status().Code
		if details := status.Status().Details; details != nil {
			for _, c := range details.Causes {
				a.Causes = append(a.Causes, string(c.Type)+" "+c.Field)
			}
		}
		slices.Sort(a.Causes)
	case err != nil:
		a.Code, a.Effect = 0, err.Error()
	}
	p.answers = append(p.answers, a)
}

func effect(before, after *unstructured.Unstructured) string {
	switch {
	case after == nil && before == nil:
		return "absent"
	case after == nil:
		return "gone"
	}
	done := "unchanged"
	switch {
	case before == nil:
		done = "created"
	case before.GetUID() != after.GetUID():
		done = "made again"
	case before.GetResourceVersion() != after.GetResourceVersion():
		done = "written"
	}
	if after.GetDeletionTimestamp() != nil {
		done += ", terminating"
	}
	return fmt.Sprintf("%s, generation %d, finalizers %v, managers %v", done, after.GetGeneration(), after.GetFinalizers(), managers(after))
}

func managers(o *unstructured.Unstructured) []string {
	var out []string
	for _, m := range o.GetManagedFields() {
		out = append(out, fmt.Sprintf("%s/%s%s", m.Manager, m.Operation, m.Subresource))
	}
	slices.Sort(out)
	return out
}

func (p *Player) create(ctx context.Context, o *unstructured.Unstructured) {
	p.ask(ctx, "create "+o.GetKind()+" "+o.GetName(), o, func() error {
		return p.Client.Create(ctx, o.DeepCopy(), client.FieldOwner("creator"))
	})
}

// apply applies as a manager.
func (p *Player) apply(ctx context.Context, what, manager string, o *unstructured.Unstructured, options ...client.ApplyOption) {
	options = append(options, client.FieldOwner(manager))
	p.ask(ctx, "apply "+what, o, func() error {
		return p.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(o.DeepCopy()), options...)
	})
}

func (p *Player) applyStatus(ctx context.Context, what string, o *unstructured.Unstructured) {
	p.ask(ctx, "apply status "+what, o, func() error {
		return p.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(o.DeepCopy()), client.FieldOwner("operator"), client.ForceOwnership)
	})
}

func (p *Player) merge(ctx context.Context, what string, o *unstructured.Unstructured, patch string) {
	p.ask(ctx, "merge "+what, o, func() error {
		return p.Client.Patch(ctx, o.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("patcher"))
	})
}

func (p *Player) remove(ctx context.Context, what string, o *unstructured.Unstructured, options ...client.DeleteOption) {
	p.ask(ctx, "delete "+what, o, func() error { return p.Client.Delete(ctx, o.DeepCopy(), options...) })
}

func uid(text string) client.Preconditions {
	id := types.UID(text)
	return client.Preconditions{UID: &id}
}

func version(text string) client.Preconditions { return client.Preconditions{ResourceVersion: &text} }

// otherUID is that of no object.
const otherUID = "11111111-2222-3333-4444-555555555555"

// owned gives an object an owner.
func owned(o, owner *unstructured.Unstructured) *unstructured.Unstructured {
	yes := true
	o.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(),
		Controller: &yes, BlockOwnerDeletion: &yes,
	}})
	return o
}
