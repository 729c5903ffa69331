package faults

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/world"
)

// pardon expects that people take the finalizers off an object.
func (h *history) pardon(uid types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pardoned[uid] = true
}

// letGo: nothing is left behind when a finalizer goes, unless that is what
// somebody asked for, or nobody is there to ask.
func (h *history) letGo(o *unstructured.Unstructured) {
	if h.pardoned[o.GetUID()] {
		delete(h.pardoned, o.GetUID()) // the next time it is the operator's doing
		return
	}
	policy, _, _ := unstructured.NestedString(o.Object, "spec", "deletionPolicy")
	switch {
	case v1alpha1.IsOn(o, v1alpha1.AnnotationForceOrphan), policy == string(v1alpha1.DeletionOrphan):
	case o.GetKind() == "TerdutServer":
		h.deserted(o)
	case h.given(o), h.succeeded(o):
	default:
		name, found := h.run.recorded(o)
		switch {
		case !found:
		case o.GetKind() == "TerdutEscalationRule":
			h.left = append(h.left, idOf(o))
		default:
			h.violated("%s was let go while %q is on the server", idOf(o), name)
		}
	}
}

// leftPolicies are the complaints about rules that were let go while the policy
// stands. The operator says so itself if the server has refused to take an empty
// one, which is a declared loss: nobody could ever delete such a rule.
func (h *history) leftPolicies(log string) (broken, declared []string) {
	for _, id := range h.left {
		said := func(line string) bool {
			return strings.Contains(line, fmt.Sprintf("%q=%q", "reason", v1alpha1.ReasonPolicyLeft)) &&
				strings.Contains(line, fmt.Sprintf("%q=%q %q=%q", "namespace", id.Namespace, "name", id.Name))
		}
		if slices.ContainsFunc(strings.Split(log, "\n"), said) {
			declared = append(declared, v1alpha1.ReasonPolicyLeft+": the server has refused to clear the policy")
		} else {
			broken = append(broken, fmt.Sprintf("%s was let go while the policy is on the server", id))
		}
	}
	return broken, declared
}

// given tells whether the server of an object is given up, or its end cannot be
// waited for.
func (h *history) given(o *unstructured.Unstructured) bool {
	server := h.serverOf(o)
	if server == nil || v1alpha1.IsOn(server, v1alpha1.AnnotationForceOrphan) {
		return true
	}
	if server.GetDeletionTimestamp() == nil {
		return false
	}
	return h.ends(server.GetNamespace()) || !h.run.serves(server.GetNamespace(), server.GetName())
}

// serverOf is the TerdutServer that an object has recorded, or nil.
func (h *history) serverOf(o *unstructured.Unstructured) *unstructured.Unstructured {
	namespace, _, _ := unstructured.NestedString(o.Object, "status", "remote", "serverNamespace")
	name, _, _ := unstructured.NestedString(o.Object, "status", "remote", "serverName")
	return h.run.World.Object(world.ID{Kind: "TerdutServer", NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}})
}

// ends tells whether a namespace is being deleted.
func (h *history) ends(namespace string) bool {
	o := h.run.World.Object(world.ID{Kind: "Namespace", NamespacedName: types.NamespacedName{Name: namespace}})
	return o == nil || o.GetDeletionTimestamp() != nil
}

// succeeded tells whether somebody else holds what an object has recorded: a
// second record, or the rule that waited for the first one's end.
func (h *history) succeeded(o *unstructured.Unstructured) bool {
	id, _, _ := unstructured.NestedInt64(o.Object, "status", "remote", "id")
	team, _, _ := unstructured.NestedString(o.Object, "spec", "teamRef", "name")
	for _, other := range h.run.World.Objects(o.GetKind()) {
		if other.GetUID() == o.GetUID() || other.GetDeletionTimestamp() != nil {
			continue
		}
		otherID, _, _ := unstructured.NestedInt64(other.Object, "status", "remote", "id")
		if _, found := h.run.recorded(other); found && otherID == id && sameServer(other, o) {
			return true
		}
		otherTeam, _, _ := unstructured.NestedString(other.Object, "spec", "teamRef", "name")
		if o.GetKind() == "TerdutEscalationRule" && other.GetNamespace() == o.GetNamespace() && otherTeam == team {
			return true
		}
	}
	return false
}

// sameServer tells whether two objects have recorded the same TerdutServer.
func sameServer(a, b *unstructured.Unstructured) bool {
	for _, field := range []string{"serverNamespace", "serverName"} {
		of, _, _ := unstructured.NestedString(a.Object, "status", "remote", field)
		if other, _, _ := unstructured.NestedString(b.Object, "status", "remote", field); of != other {
			return false
		}
	}
	return true
}

// deserted: a server goes after the teams that it has.
func (h *history) deserted(server *unstructured.Unstructured) {
	if h.ends(server.GetNamespace()) {
		return
	}
	for _, team := range h.run.World.Objects("TerdutTeam") {
		at, _, _ := unstructured.NestedString(team.Object, "status", "remote", "serverUID")
		if _, found := h.run.recorded(team); found && hasFinalizer(team) && at == string(server.GetUID()) {
			h.violated("%s was let go before %s", idOf(server), idOf(team))
		}
	}
}
