package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

// installed makes a server with a mode of credentials, and waits until it is
// Ready.
func installed(o refserver.Options, mode string) []Step {
	return []Step{serve(o), together(apply(namespaces), apply(database), apply(fmt.Sprintf(server, mode)))}
}

// before is what is prepared, and something more.
func before(steps []Step, more ...Step) []Step { return slices.Concat(steps, more) }

// serve puts an empty terdut-server behind the TerdutServer of all scenarios,
// in place of one that was there.
func serve(o refserver.Options) Step {
	return func(r *Run) error {
		_, err := r.Serve("platform", "terdut", o)
		return err
	}
}

// onServer is what somebody does on the server, past the operator.
func onServer(do func(*refserver.Server) error) Step {
	return func(r *Run) error { return do(r.peer("platform", "terdut")) }
}

// edit changes an object as it is. Where the operator writes meanwhile, people
// look again.
func edit(text string, change func(*unstructured.Unstructured) error) Step {
	return func(r *Run) error {
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			object, err := r.find(text)
			if err == nil {
				err = change(object)
			}
			if err != nil {
				return fmt.Errorf("change %s: %w", text, err)
			}
			return r.User.Update(context.Background(), object)
		})
	}
}

// spec sets one field of a spec.
func spec(text string, value any, path ...string) Step {
	return edit(text, func(o *unstructured.Unstructured) error {
		return unstructured.SetNestedField(o.Object, value, append([]string{"spec"}, path...)...)
	})
}

// merge is kubectl patch.
func merge(text, patch string) Step {
	return func(r *Run) error {
		object, err := r.find(text)
		if err != nil {
			return err
		}
		return r.User.Patch(context.Background(), object, client.RawPatch(types.MergePatchType, []byte(patch)))
	}
}

// status is kubectl patch of a status.
func status(text, patch string) Step {
	return func(r *Run) error {
		object, err := r.find(text)
		if err != nil {
			return err
		}
		return r.User.Status().Patch(context.Background(), object, client.RawPatch(types.MergePatchType, []byte(patch)))
	}
}

// onEach does the same to several objects.
func onEach(objects []string, do func(text string) Step) Step {
	steps := make([]Step, 0, len(objects))
	for _, text := range objects {
		steps = append(steps, do(text))
	}
	return together(steps...)
}

// foreground is kubectl delete --cascade=foreground.
func foreground(text string) Step {
	return func(r *Run) error {
		object, err := r.find(text)
		if err != nil {
			return err
		}
		return r.User.Delete(context.Background(), object, client.PropagationPolicy(metav1.DeletePropagationForeground))
	}
}

// strip takes all finalizers off an object, as nobody should.
func strip(text string) Step {
	return func(r *Run) error {
		object, err := r.find(text)
		if err != nil {
			return err
		}
		r.watch.pardon(object.GetUID())
		return merge(text, `{"metadata":{"finalizers":null}}`)(r)
	}
}

// says checks a condition after everything has settled: it is one of wanted,
// each as "Status Reason"; "" stands for a condition that is not there.
func says(text, condition string, wanted ...string) Step {
	return func(r *Run) error {
		object, err := r.find(text)
		if err != nil {
			return err
		}
		got := ""
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		for _, c := range conditions {
			if one, ok := c.(map[string]any); ok && one["type"] == condition {
				got = fmt.Sprintf("%v %v", one["status"], one["reason"])
			}
		}
		if !slices.Contains(wanted, got) {
			return fmt.Errorf("%s says %s %q, not %q", text, condition, got, strings.Join(wanted, `" or "`))
		}
		return nil
	}
}

// ready checks that objects are Ready.
func ready(objects ...string) Step {
	return onEach(objects, func(text string) Step { return says(text, "Ready", "True Ready") })
}

// absent checks that objects are not there.
func absent(objects ...string) Step {
	return onEach(objects, func(text string) Step {
		return func(r *Run) error {
			if _, err := r.find(text); err == nil {
				return fmt.Errorf("%s is there", text)
			}
			return nil
		}
	})
}

// permutations are all orders of several things.
func permutations[T any](things ...T) [][]T {
	if len(things) == 0 {
		return [][]T{nil}
	}
	var out [][]T
	for i := range things {
		for _, rest := range permutations(slices.Concat(things[:i], things[i+1:])...) {
			out = append(out, append([]T{things[i]}, rest...))
		}
	}
	return out
}

// soon does one thing after the other, each as soon as the operator has done
// what it can do at once: graces go on.
func soon(steps ...Step) Step {
	return func(r *Run) error {
		for i, step := range steps {
			if i > 0 {
				if err := r.calm(); err != nil {
					return err
				}
			}
			if err := step(r); err != nil {
				return err
			}
		}
		return nil
	}
}

// calm waits until the operator has done what it can do at once. A level that
// cannot tell settles.
func (r *Run) calm() error {
	if engine, ok := r.Engine.(interface{ Calm() error }); ok {
		return engine.Calm()
	}
	return r.Settle()
}
