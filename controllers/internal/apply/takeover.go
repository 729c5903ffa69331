package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Origin is a tool whose objects can be taken over. The only one is Helm.
type Origin struct {
	name string
	// label and annotations are on every object of the tool. The first two annotations name the release.
	label       [2]string
	annotations [2]string
	// keep is an annotation that tells the tool never to delete the object.
	keep [2]string
	// wrote tells whether a field manager is the tool.
	wrote func(manager string) bool
}

// Helm is Helm 3 and 4, on the command line, in Flux or in Terraform.
func Helm() Origin {
	return Origin{
		name:        "Helm",
		label:       [2]string{"app.kubernetes.io/managed-by", "Helm"},
		annotations: [2]string{"meta.helm.sh/release-namespace", "meta.helm.sh/release-name"},
		keep:        [2]string{"helm.sh/resource-policy", "keep"},
		wrote: func(manager string) bool {
			return slices.Contains([]string{"helm", "helm3", "helm4", "helm-controller"}, manager) ||
				strings.HasPrefix(manager, "terraform-provider-helm")
		},
	}
}

// release returns "namespace/name" of the release that the object belongs to.
func (o Origin) release(object client.Object) (string, bool) {
	if object.GetLabels()[o.label[0]] != o.label[1] {
		return "", false
	}
	namespace, name := object.GetAnnotations()[o.annotations[0]], object.GetAnnotations()[o.annotations[1]]
	return namespace + "/" + name, namespace != "" && name != ""
}

// TakenOver is an object that was taken over.
type TakenOver struct {
	Key Key
	// Release is "namespace/name" of the release that the object belonged to.
	Release string
	// Forced are the fields that a third manager had and that were taken from it, Ceded those that were left to it. What
	// others own and the intent does not name is left and not listed.
	Forced, Ceded []FieldDrift
}

// TakeOver makes existing objects children of owner, if they bear the names of children and belong to a release of from.
// It is called before Converge, and only when the user asks for it: Converge itself refuses such objects. What somebody
// controls, and what bears no mark of from, is left for Converge to judge. What has been taken over costs no request.
//
// The fields that from owned become ours, and those that are not in the intent are removed. Fields of other managers are
// left, as by every apply. No object is deleted or made anew, and pods are only replaced when the intent wants another
// template. The object also gets the annotation that asks from to keep it, and keeps it. The tool's own memory of the
// release is not touched and goes by its stored manifest: the user deletes its Secrets and must not uninstall it.
//
// The selector of a workload cannot change: render the one of LiveSelector. Where an [Immutable] field differs, nothing is
// written. That is joined over the children; any other error ends the call. What was taken over is returned with an error
// as well.
func (e *Engine) TakeOver(ctx context.Context, owner client.Object, children []runtime.ApplyConfiguration, from Origin,
) ([]TakenOver, error) {
	p, err := e.begin(owner, nil, children)
	if err != nil {
		return nil, err
	}
	var taken []TakenOver
	var verdicts []error
	for _, want := range p.intents {
		one, oneErr := p.takeOver(ctx, want, from)
		if one != nil {
			taken = append(taken, *one)
		}
		if oneErr == nil {
			continue
		}
		verdicts = append(verdicts, oneErr)
		if !isVerdict(oneErr) {
			break
		}
	}
	return taken, errors.Join(verdicts...)
}

// LiveSelector returns the label selector of a workload, of which the group, version, kind, namespace and name are in key.
// It returns nil when there is no such object, or it has none. It is read from the API server if the cache does not have it.
func (e *Engine) LiveSelector(ctx context.Context, key Key) (*metav1.LabelSelector, error) {
	object, err := e.get(ctx, e.client, key)
	if err == nil && object == nil {
		object, err = e.get(ctx, e.live, key)
	}
	if err != nil || object == nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("read the selector of %s: %w", key, err)
	}
	workload := struct {
		Spec struct {
			Selector *metav1.LabelSelector `json:"selector"`
		} `json:"spec"`
	}{}
	if err = runtime.DefaultUnstructuredConverter.FromUnstructured(content, &workload); err != nil {
		return nil, fmt.Errorf("read the selector of %s: %w", key, err)
	}
	return workload.Spec.Selector, nil
}

// takeOver takes one object over. It returns nil when there is nothing to take over.
func (p *pass) takeOver(ctx context.Context, want *intent, from Origin) (*TakenOver, error) {
	live, release, err := p.candidate(ctx, want, from)
	if live == nil || err != nil {
		return nil, err
	}
	diff, err := p.compare(live, want)
	if err != nil {
		return nil, err
	}
	if field, differs := immutable(diff, want); differs {
		return nil, &Immutable{Key: want.key, Field: field}
	}
	if live, err = p.inherit(ctx, want, live, from); err != nil {
		return nil, err
	}
	if err = p.update(ctx, want, live); err != nil {
		return nil, fmt.Errorf("take over from %s: %w", from.name, err)
	}
	taken := &TakenOver{Key: want.key, Release: release}
	for _, change := range p.report.Changes {
		if change.Key == want.key {
			taken.Forced = change.Forced
		}
	}
	for _, field := range p.report.Ceded {
		if field.Key == want.key {
			taken.Ceded = append(taken.Ceded, field.FieldDrift)
		}
	}
	return taken, nil
}

// candidate returns the object that bears the name of a child, if it can be taken over, and its release.
func (p *pass) candidate(ctx context.Context, want *intent, from Origin) (client.Object, string, error) {
	live, err := p.get(ctx, p.client, want.key)
	if err == nil && (live == nil || !p.ours(live, want)) {
		live, err = p.get(ctx, p.Engine.live, want.key)
	}
	if err != nil || live == nil || metav1.GetControllerOfNoCopy(live) != nil || live.GetDeletionTimestamp() != nil {
		return nil, "", err
	}
	release, belongs := from.release(live)
	if !belongs {
		return nil, "", nil
	}
	return live, release, nil
}

// inherit makes the fields of the origin ours. The apply that follows removes those that are not in the intent, and sets
// the owner; until then the object still looks like one of the origin, so that an interruption is no harm.
func (p *pass) inherit(ctx context.Context, want *intent, live client.Object, from Origin) (client.Object, error) {
	upgraded, ok := live.DeepCopyObject().(client.Object)
	if !ok {
		return nil, fmt.Errorf("take over %s: a copy of %T is no object", want.key, live)
	}
	writers := sets.New[string]()
	for _, entry := range live.GetManagedFields() {
		if from.wrote(entry.Manager) && entry.Operation == metav1.ManagedFieldsOperationUpdate {
			writers.Insert(entry.Manager)
		}
	}
	if err := csaupgrade.UpgradeManagedFields(upgraded, writers, FieldManager); err != nil {
		return nil, fmt.Errorf("take over %s: upgrade the managed fields: %w", want.key, err)
	}
	entries, err := p.inheritApplied(upgraded.GetManagedFields(), want.key, from)
	if err != nil {
		return nil, fmt.Errorf("take over %s: %w", want.key, err)
	}
	for i := range entries {
		if err = p.disown(&entries[i], keptBy(from, want)); err != nil {
			return nil, fmt.Errorf("take over %s: %w", want.key, err)
		}
	}
	keep := operation{Op: "add", Path: "/metadata/annotations/" + escape(from.keep[0]), Value: from.keep[1]}
	return p.patch(ctx, want.key, live, entries, keep)
}

// inheritApplied makes the fields that the origin applied ours. Entries of another version of the kind are dropped, as
// csaupgrade does: their paths may mean something else.
func (e *Engine) inheritApplied(entries []metav1.ManagedFieldsEntry, key Key, from Origin) ([]metav1.ManagedFieldsEntry, error) {
	applied := fieldpath.NewSet()
	var kept []metav1.ManagedFieldsEntry
	for i := range entries {
		entry := &entries[i]
		if !from.wrote(entry.Manager) || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" {
			kept = append(kept, *entry)
			continue
		}
		if entry.APIVersion != key.gvk().GroupVersion().String() {
			continue
		}
		set, err := decode(entry)
		if err != nil {
			return nil, err
		}
		applied = applied.Union(set)
	}
	if applied.Empty() {
		return kept, nil
	}
	return e.book(kept, key, applied, func(managed) bool { return false })
}

// keptBy are the fields that must not be ours, because the apply would remove them: the annotation of the origin, which is
// set for good, and immutable fields that the intent leaves to a default.
func keptBy(from Origin, want *intent) *fieldpath.Set {
	kept := fieldpath.NewSet(fieldpath.MakePathOrDie("metadata", "annotations", from.keep[0]))
	for _, names := range immutableFields[want.key.gvk().GroupKind()] {
		if _, isWanted := lookUp(want.fields.AsValue(), names); isWanted {
			continue
		}
		path := fieldpath.Path{}
		for _, name := range names {
			path = append(path, fieldpath.FieldNameElement(name))
		}
		kept.Insert(path)
	}
	return kept
}

// disown takes fields, and all that is inside of them, out of our entry.
func (e *Engine) disown(entry *metav1.ManagedFieldsEntry, fields *fieldpath.Set) error {
	if !isOwn(entry) {
		return nil
	}
	set, err := decode(entry)
	if err != nil {
		return err
	}
	return encode(entry, set.RecursiveDifference(fields))
}

// escape writes a name as a part of a JSON pointer.
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
