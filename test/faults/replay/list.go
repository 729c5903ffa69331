package replay

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func secret(value string) *unstructured.Unstructured {
	return with(object("v1", "Secret", "replay", "one"), value, "data", "key")
}

// values of Secrets, in base64.
const one, two = "b25l", "dHdv"

// secrets: identity and ownership of a built-in kind.
func (p *Player) secrets(ctx context.Context) {
	nowhere := with(object("v1", "Secret", "no-such-namespace", "one"), one, "data", "key")
	p.apply(ctx, "in an absent namespace", "operator", nowhere)
	p.apply(ctx, "to an absent object, with a uid", "operator", with(secret(one), otherUID, "metadata", "uid"))
	p.apply(ctx, "to an absent object, with uid and version", "operator",
		with(with(secret(one), otherUID, "metadata", "uid"), "1", "metadata", "resourceVersion"))
	p.merge(ctx, "to an absent object", secret(one), `{"data":{"key":"b25l"}}`)
	p.remove(ctx, "of an absent object", secret(one))
	p.apply(ctx, "to an absent object, with a version", "operator", with(secret(one), "1", "metadata", "resourceVersion"))
	p.apply(ctx, "of the same", "operator", secret(one))
	p.create(ctx, secret(one))

	live := p.live(ctx, secret(one))
	is, at := string(live.GetUID()), live.GetResourceVersion()
	p.apply(ctx, "with an old version", "operator", with(secret(two), "1", "metadata", "resourceVersion"))
	p.apply(ctx, "with a wrong uid", "operator", with(secret(two), otherUID, "metadata", "uid"))
	p.apply(ctx, "with a wrong uid and an old version", "operator",
		with(with(secret(two), otherUID, "metadata", "uid"), "1", "metadata", "resourceVersion"))
	p.apply(ctx, "of the same, with uid and version", "operator", with(with(secret(one), is, "metadata", "uid"), at, "metadata", "resourceVersion"))
	p.apply(ctx, "with uid and version", "operator", with(with(secret(two), is, "metadata", "uid"), at, "metadata", "resourceVersion"))
	p.apply(ctx, "of another manager", "other", secret(one))
	p.apply(ctx, "of another manager, by force", "other", secret(one), client.ForceOwnership)
	p.apply(ctx, "of the first one again", "operator", secret(two))
	p.apply(ctx, "of the first one, with the same value", "operator", secret(one))
	p.apply(ctx, "of nothing any more, by the other", "other", object("v1", "Secret", "replay", "one"))

	p.merge(ctx, "with an old version", secret(one), `{"metadata":{"resourceVersion":"1"},"data":{"key":"dHdv"}}`)
	p.merge(ctx, "with a wrong uid", secret(one), `{"metadata":{"uid":"`+otherUID+`"},"data":{"key":"dHdv"}}`)
	p.merge(ctx, "of the same", secret(one), `{"data":{"key":"b25l"}}`)
	p.merge(ctx, "of another value", secret(one), `{"data":{"key":"dHdv"}}`)
	p.apply(ctx, "of the operator, after a patch", "operator", secret(one))
	p.apply(ctx, "of the operator, by force", "operator", secret(one), client.ForceOwnership)

	p.remove(ctx, "with a wrong uid", secret(one), uid(otherUID))
	p.remove(ctx, "with an old version", secret(one), version("1"))
	p.remove(ctx, "with its uid", secret(one), uid(is))
	p.remove(ctx, "with its uid, again", secret(one), uid(is))
	p.apply(ctx, "to a deleted object, with its uid", "operator", with(secret(one), is, "metadata", "uid"))
	p.apply(ctx, "to an absent object", "operator", secret(one))
	p.apply(ctx, "to one that was made again, with the old uid", "operator", with(secret(one), is, "metadata", "uid"))
	p.remove(ctx, "of one that was made again, with the old uid", secret(one), uid(is))
}

// finalizers: what is waited for stays.
func (p *Player) finalizers(ctx context.Context) {
	kept := func() *unstructured.Unstructured { return object("v1", "Secret", "replay", "kept") }
	p.apply(ctx, "with a finalizer", "operator", finalized(kept(), "example.com/ours"))
	p.merge(ctx, "of two finalizers", kept(), `{"metadata":{"finalizers":["example.com/ours","example.com/theirs"]}}`)
	p.apply(ctx, "without a finalizer of ours", "operator", kept())
	p.apply(ctx, "with a finalizer again", "operator", finalized(kept(), "example.com/ours"), client.ForceOwnership)
	p.remove(ctx, "of what has finalizers", kept())
	p.remove(ctx, "of what has finalizers, again", kept())
	p.merge(ctx, "of a new finalizer on what is terminating", kept(),
		`{"metadata":{"finalizers":["example.com/ours","example.com/theirs","example.com/new"]}}`)
	p.apply(ctx, "without a finalizer on what is terminating", "operator", with(kept(), one, "data", "key"), client.ForceOwnership)
	p.apply(ctx, "to what is terminating", "operator", with(kept(), two, "data", "key"), client.ForceOwnership)
	p.merge(ctx, "of no finalizers on what is terminating", kept(), `{"metadata":{"finalizers":null}}`)
}

func finalized(o *unstructured.Unstructured, finalizers ...string) *unstructured.Unstructured {
	o.SetFinalizers(finalizers)
	return o
}

const group = "terdut.ryuvia.com/v1alpha1"

func team(displayName string) *unstructured.Unstructured {
	o := with(object(group, "TerdutTeam", "replay", "team"), displayName, "spec", "displayName")
	return with(o, "terdut", "spec", "serverRef", "name")
}

func teamStatus(observed int64) *unstructured.Unstructured {
	return with(object(group, "TerdutTeam", "replay", "team"), observed, "status", "observedGeneration")
}

// customResources: defaults, generations, and the status apart from the rest.
func (p *Player) customResources(ctx context.Context) {
	p.applyStatus(ctx, "of an absent object", teamStatus(1))
	p.apply(ctx, "of a custom resource", "user", team("Payments"))
	p.note(ctx, team(""), "spec", "adoptionPolicy")
	p.note(ctx, team(""), "spec", "deletionPolicy")
	p.note(ctx, team(""), "status", "observedGeneration")
	p.apply(ctx, "of the same custom resource", "user", team("Payments"))
	live := p.live(ctx, team(""))
	is, at := string(live.GetUID()), live.GetResourceVersion()
	p.applyStatus(ctx, "with uid and version", with(with(teamStatus(1), is, "metadata", "uid"), at, "metadata", "resourceVersion"))
	p.applyStatus(ctx, "of the same", with(teamStatus(1), is, "metadata", "uid"))
	p.applyStatus(ctx, "with an old version", with(with(teamStatus(2), is, "metadata", "uid"), at, "metadata", "resourceVersion"))
	p.applyStatus(ctx, "with a wrong uid", with(teamStatus(2), otherUID, "metadata", "uid"))
	p.applyStatus(ctx, "with a spec beside it", with(teamStatus(2), "Else", "spec", "displayName"))
	p.note(ctx, team(""), "spec", "displayName")
	p.apply(ctx, "of a spec with a status beside it", "user", with(team("Payments"), int64(7), "status", "observedGeneration"))
	p.note(ctx, team(""), "status", "observedGeneration")
	p.apply(ctx, "of another spec", "user", team("Platform"))
	p.merge(ctx, "of a label", team(""), `{"metadata":{"labels":{"a":"b"}}}`)
	p.merge(ctx, "of a spec", team(""), `{"spec":{"displayName":"Else"}}`)
	p.merge(ctx, "of a null where there is a default", team(""), `{"spec":{"deletionPolicy":null}}`)
	p.note(ctx, team(""), "spec", "deletionPolicy")
	p.merge(ctx, "of a field that there is not", team(""), `{"spec":{"nonsense":true}}`)
	p.merge(ctx, "of a finalizer on a custom resource", team(""), `{"metadata":{"finalizers":["example.com/ours"]}}`)
	p.remove(ctx, "of a custom resource", team(""))
	p.applyStatus(ctx, "of what is terminating", teamStatus(3))
	p.merge(ctx, "of no finalizers on a custom resource", team(""), `{"metadata":{"finalizers":null}}`)
}

// note keeps the value of a field as if it were an answer.
func (p *Player) note(ctx context.Context, o *unstructured.Unstructured, path ...string) {
	value, found, _ := unstructured.NestedFieldNoCopy(p.live(ctx, o).Object, path...)
	p.answers = append(p.answers, Answer{Request: fmt.Sprintf("look at %v", path), Effect: fmt.Sprintf("%v %v", value, found)})
}

// fixedFields: what cannot change.
func (p *Player) fixedFields(ctx context.Context) {
	p.apply(ctx, "of another type of Secret", "operator", with(secret(one), "example.com/other", "type"))
	deployment := func(app string) *unstructured.Unstructured {
		o := object("apps/v1", "Deployment", "replay", "server")
		labels := map[string]any{"app": app}
		with(o, labels, "spec", "selector", "matchLabels")
		with(o, labels, "spec", "template", "metadata", "labels")
		return with(o, []any{map[string]any{"name": "server", "image": "server:1"}}, "spec", "template", "spec", "containers")
	}
	p.apply(ctx, "of a Deployment", "operator", deployment("a"))
	p.apply(ctx, "of the same Deployment", "operator", deployment("a"))
	p.apply(ctx, "of another selector", "operator", deployment("b"))
	p.apply(ctx, "of another scale", "operator", with(deployment("a"), int64(2), "spec", "replicas"))
	// Its strategy: a default is in the way of another one.
	recreate := with(deployment("a"), "Recreate", "spec", "strategy", "type")
	p.apply(ctx, "of a strategy beside the default of another one", "operator", recreate, client.ForceOwnership)
	p.merge(ctx, "of another strategy", recreate, `{"spec":{"strategy":{"rollingUpdate":null,"type":"Recreate"}}}`)
	p.apply(ctx, "of the same strategy", "operator", recreate, client.ForceOwnership)
	p.merge(ctx, "of the first strategy", recreate, `{"spec":{"strategy":{"type":"RollingUpdate"}}}`)
	p.apply(ctx, "of a strategy that somebody has changed", "operator", recreate, client.ForceOwnership)
	p.note(ctx, recreate, "spec", "strategy", "rollingUpdate", "maxSurge")
}

// garbage: what has lost its owner goes.
func (p *Player) garbage(ctx context.Context) {
	p.apply(ctx, "of an owner", "user", team("Owner"))
	child := object("v1", "Secret", "replay", "child")
	p.apply(ctx, "of what is owned", "operator", owned(child.DeepCopy(), p.live(ctx, team(""))))
	p.ask(ctx, "delete of the owner", child, func() error {
		err := p.Client.Delete(ctx, team(""))
		p.Settle(func() bool { return p.live(ctx, child) == nil })
		return err
	})
}

// namespaces: one that is going takes nothing new.
func (p *Player) namespaces(ctx context.Context) {
	held := finalized(object("v1", "Secret", "replay", "held"), "example.com/ours")
	p.apply(ctx, "of what holds the namespace", "operator", held)
	namespace := object("v1", "Namespace", "", "replay")
	p.ask(ctx, "delete of the namespace", held, func() error {
		err := p.Client.Delete(ctx, namespace)
		p.Settle(func() bool { return p.live(ctx, held).GetDeletionTimestamp() != nil && p.live(ctx, secret(one)) == nil })
		return err
	})
	p.apply(ctx, "of something new in a namespace that is going", "operator", secret(one))
	p.create(ctx, secret(one))
	p.apply(ctx, "to what is there in a namespace that is going", "operator", with(held.DeepCopy(), one, "data", "key"))
	p.ask(ctx, "merge of no finalizers in a namespace that is going", namespace, func() error {
		err := p.Client.Patch(ctx, held.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
		p.Settle(func() bool { return p.live(ctx, namespace) == nil })
		return err
	})
}
