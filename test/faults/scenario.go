package faults

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"git.ryuvia.com/niklas/terdut-operator/test/faults/inject"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/world"
)

// Scenario is what people do.
type Scenario struct {
	Name string
	// Before prepares; no fault meets it.
	Before []Step
	// Steps are what is interrupted. Each is settled before the next.
	Steps []Step
	// Ends checks what everything has come to, besides the oracles; nil checks
	// nothing.
	Ends Step
	// Orphans are objects that stay on the server on purpose, as lines of the
	// final state begin.
	Orphans bool
	// Allowed are declared losses.
	Allowed []Allowance

	// level is where it is played; nil means in memory.
	level Level
}

// Allowance is a loss that today's wire makes possible.
type Allowance struct {
	// Reason is how the operator says so.
	Reason string
	// Why says, for people, what makes it unavoidable.
	Why string
	// At are the faults that may lead to it, and no others.
	At []inject.Fault
	// BeforeCrash are faults that lead to it when the process crashes next, which
	// would have tried again.
	BeforeCrash []inject.Fault
}

// Step is one thing that people do.
type Step func(*Run) error

// apply is kubectl apply.
func apply(documents string) Step {
	return func(r *Run) error {
		for document := range strings.SplitSeq(documents, "\n---\n") {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
				return fmt.Errorf("read a manifest: %w", err)
			}
			err := r.User.Apply(context.Background(), client.ApplyConfigurationFromUnstructured(object),
				client.FieldOwner("kubectl"), client.ForceOwnership)
			if err != nil {
				return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
			}
		}
		return nil
	}
}

// remove is kubectl delete of several objects at once: "Kind namespace/name".
func remove(objects ...string) Step {
	return func(r *Run) error {
		for _, text := range objects {
			object, err := r.find(text)
			if err != nil {
				return err
			}
			if err := r.User.Delete(context.Background(), object); err != nil {
				return fmt.Errorf("delete %s: %w", text, err)
			}
		}
		return nil
	}
}

// annotate is kubectl annotate.
func annotate(text, key, value string) Step {
	return func(r *Run) error {
		object, err := r.find(text)
		if err != nil {
			return err
		}
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
		return r.User.Patch(context.Background(), object, client.RawPatch(types.MergePatchType, []byte(patch)))
	}
}

// find is an object by "Kind namespace/name" or "Kind name".
func (r *Run) find(text string) (*unstructured.Unstructured, error) {
	kind, name, _ := strings.Cut(text, " ")
	id := world.ID{Kind: kind}
	namespace, rest, namespaced := strings.Cut(name, "/")
	id.Name = namespace
	if namespaced {
		id.Namespace, id.Name = namespace, rest
	}
	object := r.World.Object(id)
	if object == nil {
		return nil, fmt.Errorf("find %s: there is none", text)
	}
	return object.DeepCopy(), nil
}

// together does several things without waiting in between.
func together(steps ...Step) Step {
	return func(r *Run) error {
		for _, step := range steps {
			if err := step(r); err != nil {
				return err
			}
		}
		return nil
	}
}
