package faults

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/world"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

// always checks what must hold at every moment, at each change: no Ready that is
// a lie, no Secret that is half written, no finalizer that goes before what it
// stands for.
func (h *history) always(c world.Change) {
	switch {
	case c.Kind == "Secret" && c.After != nil:
		h.wholeSecret(c.After)
		h.replace(c)
	case slices.Contains(kinds, c.Kind):
		if c.After != nil && isReady(c.After) && (c.Before == nil || !isReady(c.Before)) {
			h.trueReady(c.After)
		}
		if c.Before != nil && hasFinalizer(c.Before) && (c.After == nil || !hasFinalizer(c.After)) {
			h.letGo(c.Before)
		}
	}
}

func (h *history) violated(format string, args ...any) {
	h.broken = append(h.broken, fmt.Sprintf(format, args...))
}

// wholeSecret: url and key of a credential appear together.
func (h *history) wholeSecret(secret *unstructured.Unstructured) {
	if secret.GetLabels()[v1alpha1.LabelManagedBy] != v1alpha1.ManagedBy || !strings.Contains(secret.GetName(), "webhook") {
		return
	}
	data := secretData(secret)
	if (data[v1alpha1.WebhookURLKey] == "") != (data[v1alpha1.WebhookKeyKey] == "") {
		h.violated("%s was half written", idOf(secret))
	}
}

// isReady tells whether an object says that its present spec is in force.
func isReady(o *unstructured.Unstructured) bool {
	generation, ready := readyFor(o)
	return ready && generation == o.GetGeneration()
}

// saysReady tells whether an object is Ready, for whatever generation.
func saysReady(o *unstructured.Unstructured) bool {
	_, ready := readyFor(o)
	return ready
}

func readyFor(o *unstructured.Unstructured) (generation int64, ready bool) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		one, ok := c.(map[string]any)
		if !ok || one["type"] != v1alpha1.ConditionReady {
			continue
		}
		generation, _ = one["observedGeneration"].(int64)
		return generation, one["status"] == "True"
	}
	return 0, false
}

func hasFinalizer(o *unstructured.Unstructured) bool {
	return slices.Contains(o.GetFinalizers(), v1alpha1.Finalizer)
}

// trueReady: what says that it is Ready is there, and its key opens it. What is
// being deleted counts as terminating, whatever it says: a status that was on its
// way may arrive after the key has gone.
func (h *history) trueReady(o *unstructured.Unstructured) {
	if o.GetDeletionTimestamp() != nil {
		return
	}
	switch o.GetKind() {
	case "TerdutServer":
		name, _, _ := unstructured.NestedString(o.Object, "status", "operatorCredentialsSecretRef", "name")
		if opened := h.run.keyIn(o.GetNamespace(), name, v1alpha1.CredentialsKey); !strings.HasPrefix(opened, "a live key") {
			h.violated("%s became Ready while its Secret %q holds %s", idOf(o), name, opened)
		}
		h.fulfilled(o)
		return
	case "TerdutAlertSource":
		name, _, _ := unstructured.NestedString(o.Object, "status", "webhookURLSecretRef", "name")
		if opened := h.run.keyIn(o.GetNamespace(), name, v1alpha1.WebhookKeyKey); !strings.HasPrefix(opened, "the live key") {
			h.violated("%s became Ready while its Secret %q holds %s", idOf(o), name, opened)
		}
	}
	if !h.run.stands(o) {
		h.violated("%s became Ready while the server has no such object", idOf(o))
		return
	}
	h.fulfilled(o)
}

// keyIn says what a key of a Secret opens.
func (r *Run) keyIn(namespace, name, key string) string {
	secret := r.World.Object(world.ID{Kind: "Secret", NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}})
	if secret == nil {
		return "nothing, for there is none"
	}
	return r.opensNow(secretData(secret)[key])
}

// stands tells whether what an object has recorded is on its server, under the
// name that the spec wants.
func (r *Run) stands(o *unstructured.Unstructured) bool {
	field := map[string]string{"TerdutTeam": "displayName"}[o.GetKind()]
	if field == "" {
		field = "name"
	}
	want, _, _ := unstructured.NestedString(o.Object, "spec", field)
	name, found := r.recorded(o)
	return found && (name == want || o.GetKind() == "TerdutEscalationRule")
}

// recorded is the name of the object that another one has recorded, if that is
// on the server.
func (r *Run) recorded(o *unstructured.Unstructured) (name string, found bool) {
	text := func(field string) string {
		v, _, _ := unstructured.NestedString(o.Object, "status", "remote", field)
		return v
	}
	id, _, _ := unstructured.NestedInt64(o.Object, "status", "remote", "id")
	team, _, _ := unstructured.NestedInt64(o.Object, "status", "remote", "teamID")
	s := r.peer(text("serverNamespace"), text("serverName"))
	if s == nil || id == 0 || text("ownerUID") != string(o.GetUID()) {
		return "", false
	}
	return nameOn(s, o.GetKind(), team, id)
}

func nameOn(s *refserver.Server, kind string, team, id int64) (string, bool) {
	switch kind {
	case "TerdutTeam":
		for _, t := range s.Teams() {
			if t.ID == id {
				return t.Name, true
			}
		}
	case "TerdutDeadmanSwitch":
		for _, d := range s.Switches(team) {
			if d.ID == id {
				return d.Name, true
			}
		}
	case "TerdutAlertSource":
		for _, i := range s.Integrations(team) {
			if i.ID == id {
				return i.Name, true
			}
		}
	case "TerdutEscalationRule":
		return "", len(s.Escalation(team).Levels) > 0
	}
	return "", false
}

// held are the keys in Secrets that open something, by Secret and key.
type held map[string]string

func (h *history) liveKeys() held {
	out := held{}
	for _, secret := range h.run.World.Objects("Secret") {
		if secret.GetDeletionTimestamp() != nil || h.ownerGoes(secret) || h.unasked(secret) || h.unannounced(secret) {
			continue
		}
		for name, value := range secretData(secret) {
			if opened := h.run.opensNow(value); looksLikeKey(value) && opened != opensNothing {
				out[idOf(secret).String()+" "+name] = opened
			}
		}
	}
	h.inGrace(out)
	return out
}

func (h *history) ownerGoes(secret *unstructured.Unstructured) bool {
	for _, ref := range secret.GetOwnerReferences() {
		owner := h.run.World.Object(world.ID{Kind: ref.Kind, NamespacedName: types.NamespacedName{Namespace: secret.GetNamespace(), Name: ref.Name}})
		if owner == nil || owner.GetUID() != ref.UID || owner.GetDeletionTimestamp() != nil {
			return true
		}
	}
	return false
}

// ownerOf is the first owner of a Secret as it is now; nil when there is none.
func (h *history) ownerOf(secret *unstructured.Unstructured) *unstructured.Unstructured {
	owners := secret.GetOwnerReferences()
	if len(owners) == 0 {
		return nil
	}
	name := types.NamespacedName{Namespace: secret.GetNamespace(), Name: owners[0].Name}
	return h.run.World.Object(world.ID{Kind: owners[0].Kind, NamespacedName: name})
}

// unannounced tells whether a Secret has the key of a source that has not said
// yet where its key is: it is being made, or cannot be had.
func (h *history) unannounced(secret *unstructured.Unstructured) bool {
	source := h.ownerOf(secret)
	if source == nil || source.GetKind() != "TerdutAlertSource" {
		return false
	}
	_, announced, _ := unstructured.NestedString(source.Object, "status", "webhookURLSecretRef", "name")
	return !announced
}

// unasked tells whether a Secret has the key of a team, and the owner of the
// server wants teams to have none any more.
func (h *history) unasked(secret *unstructured.Unstructured) bool {
	team := h.ownerOf(secret)
	if secret.GetLabels()[v1alpha1.LabelCredentials] != v1alpha1.CredentialsOfTeam || team == nil {
		return false
	}
	server := h.serverOf(team)
	if server == nil {
		return false
	}
	mode, _, _ := unstructured.NestedString(server.Object, "spec", "credentials", "mode")
	return mode == string(v1alpha1.CredentialsOperatorOnly) || mode == string(v1alpha1.CredentialsMirrored)
}

// destroyed: a DELETE takes no key that is published in a Secret, unless its
// team goes, which takes everything along.
func (h *history) destroyed(route string, before held) {
	if route == "/api/teams/{id}" {
		return
	}
	after := h.liveKeys()
	for where, opened := range before {
		if after[where] == "" {
			h.violated("%s in %s was published and was destroyed by DELETE %s", opened, where, route)
		}
	}
}
