package faults

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/world"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

// fulfilled: what is Ready is as its spec asks. The reference would not miss
// what the operator never sends.
func (h *history) fulfilled(o *unstructured.Unstructured) {
	if lacks := h.run.lacks(o); lacks != "" {
		h.violated("%s became Ready although %s", idOf(o), lacks)
	}
}

// lacks tells what of its spec an object does not find where it should be; empty
// when everything is there.
func (r *Run) lacks(o *unstructured.Unstructured) string {
	switch o.GetKind() {
	case "TerdutServer":
		return r.serverLacks(as[v1alpha1.TerdutServer](o))
	case "TerdutTeam":
		want := as[v1alpha1.TerdutTeam](o)
		for _, t := range r.serverOf(&want.Status.RemoteStatus).Teams() {
			if groups := want.Spec.OIDC; t.ID == want.Status.TeamID && groups != nil {
				return differing("groups", t.MemberGroup+" "+t.OwnerGroup, groups.MemberGroup+" "+groups.OwnerGroup)
			}
		}
	case "TerdutEscalationRule":
		want := as[v1alpha1.TerdutEscalationRule](o)
		got := r.serverOf(&want.Status.RemoteStatus).Escalation(want.Status.Remote.TeamID)
		says, asked := fmt.Sprint(got.RepeatCount), fmt.Sprint(want.Spec.RepeatCount)
		for _, l := range got.Levels {
			says += fmt.Sprintf(" %s %d", l.Timeout, len(l.Targets))
		}
		for _, l := range want.Spec.Levels {
			asked += fmt.Sprintf(" %s %d", duration(l.Timeout), len(l.Targets))
		}
		return differing("policy", says, asked)
	case "TerdutDeadmanSwitch":
		want := as[v1alpha1.TerdutDeadmanSwitch](o)
		for _, s := range r.serverOf(&want.Status.RemoteStatus).Switches(want.Status.Remote.TeamID) {
			if s.ID == want.Status.SwitchID {
				return differing("switch", fmt.Sprint(s.Timeout, s.Severity, s.Matcher), fmt.Sprint(duration(want.Spec.Timeout), want.Spec.Severity, want.Spec.Matcher))
			}
		}
	}
	return ""
}

// serverLacks: pods run, and they are those of the spec of now.
func (r *Run) serverLacks(want *v1alpha1.TerdutServer) string {
	found := r.World.Object(world.ID{Kind: "Deployment", NamespacedName: types.NamespacedName{Namespace: want.Namespace, Name: want.Name}})
	if want.Spec.External != nil || found == nil {
		return ""
	}
	d := as[appsv1.Deployment](found)
	if d.Status.ObservedGeneration < d.Generation {
		return "its pods are those of the Deployment before"
	}
	if image := want.Spec.Image; image != nil && image.Tag != "" {
		runs := slices.ContainsFunc(d.Spec.Template.Spec.Containers, func(c corev1.Container) bool { return strings.HasSuffix(c.Image, ":"+image.Tag) })
		if !runs {
			return fmt.Sprintf("its pods are not of %q", image.Tag)
		}
	}
	return ""
}

func (r *Run) serverOf(s *v1alpha1.RemoteStatus) *refserver.Server {
	return r.peer(s.Remote.ServerNamespace, s.Remote.ServerName)
}

func differing(what, says, asked string) string {
	if says == asked {
		return ""
	}
	return fmt.Sprintf("its %s is %q and the spec asks for %q", what, says, asked)
}

func duration(text v1alpha1.Duration) time.Duration {
	d, err := time.ParseDuration(string(text))
	if err != nil { // the schema does not let it in
		return -1
	}
	return d
}

// as is an object in its own type.
func as[T any](o *unstructured.Unstructured) *T {
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, out); err != nil {
		panic(err) // it came through the schema
	}
	return out
}

// made: nothing is made on a server for a resource that has no finalizer, for
// nobody would clean it up.
func (h *history) made(route string) {
	parts := strings.Split(route, "/")
	kind := map[string]string{
		"teams": "TerdutTeam", "deadman-switches": "TerdutDeadmanSwitch", "integrations": "TerdutAlertSource",
	}[parts[len(parts)-1]]
	if kind == "" {
		return
	}
	if !slices.ContainsFunc(h.run.World.Objects(kind), hasFinalizer) {
		h.violated("POST %s was asked for while no %s had a finalizer", route, kind)
	}
}

// replaced is a key that stood in a Secret until another one took its place.
type replaced struct {
	where string
	owner types.UID
	// token is what the owner was asked with when it was exchanged, and because is
	// the same if it was exchanged for that; both may be empty.
	token, because string
	until          time.Time
}

// replace remembers the keys that a change of a Secret takes out of it. Who had
// read them goes on using them, until the grace of the owner is over. Before the
// owner was Ready for the first time nobody had.
func (h *history) replace(c world.Change) {
	if c.Before == nil {
		return
	}
	owner := h.ownerOf(c.Before)
	if owner == nil || !saysReady(owner) || owner.GetKind() == "TerdutTeam" { // the key of a team has no grace
		return
	}
	now := secretData(c.After)
	for name, value := range secretData(c.Before) {
		if now[name] == value || !looksLikeKey(value) {
			continue
		}
		old := replaced{
			where: idOf(c.Before).String() + " " + name, owner: owner.GetUID(),
			token: v1alpha1.RotateToken(owner),
			until: h.run.now().Add(graceOf(owner) - slack),
		}
		if h.run.opensNow(value) != opensNothing { // a draft is nobody's key yet
			old.because = h.run.rotatesFor(owner)
		}
		h.onceFor(old)
		h.replaced[value] = old
	}
}

// onceFor: a key is exchanged once for each time that somebody asks for it.
func (h *history) onceFor(now replaced) {
	for _, old := range h.replaced {
		if now.because != "" && old.because == now.because && old.owner == now.owner && old.where == now.where {
			h.violated("%s was exchanged twice for the one token %q", now.where, now.because)
		}
	}
}

// rotatesFor is the token for which an object's key is being exchanged; empty
// when nobody has asked for that.
func (r *Run) rotatesFor(owner *unstructured.Unstructured) string {
	if owner.GetKind() != "TerdutServer" {
		token, _, _ := unstructured.NestedString(owner.Object, "status", "pendingCreate", "rotate")
		return token
	}
	name := types.NamespacedName{Namespace: owner.GetNamespace(), Name: v1alpha1.NextCredentialsSecretName(owner.GetName())}
	if next := r.World.Object(world.ID{Kind: "Secret", NamespacedName: name}); next != nil {
		return next.GetAnnotations()[v1alpha1.AnnotationRotate]
	}
	return ""
}

// slack is how much earlier a grace may be over: its end is recorded before the
// Secret is written, and a write that fails is tried again within seconds.
const slack = time.Minute

// graceOf is how long a key of an object goes on working once it was replaced.
func graceOf(o *unstructured.Unstructured) time.Duration {
	text, _, _ := unstructured.NestedString(o.Object, "spec", "rotationGrace")
	if o.GetKind() == "TerdutServer" {
		text, _, _ = unstructured.NestedString(o.Object, "spec", "credentials", "gracePeriod")
	}
	if text == "" {
		return time.Hour // as the API says
	}
	return duration(v1alpha1.Duration(text))
}

// inGrace adds the keys that were replaced not long ago to those that may not be
// destroyed.
func (h *history) inGrace(out held) {
	for value, old := range h.replaced {
		stays := slices.ContainsFunc(h.run.World.Objects(kinds...), func(o *unstructured.Unstructured) bool {
			return o.GetUID() == old.owner && o.GetDeletionTimestamp() == nil && !rotatesAgain(o, old.token)
		})
		if opened := h.run.opensNow(value); stays && h.run.now().Before(old.until) && opened != opensNothing {
			out[old.where+", until its grace is over"] = opened
		}
	}
}

// rotatesAgain tells whether somebody asks for one more key than with a token.
// There is never more than one that was replaced and still works: the one before
// goes.
func rotatesAgain(o *unstructured.Unstructured, before string) bool {
	done, _, _ := unstructured.NestedString(o.Object, "status", "rotated")
	if o.GetKind() == "TerdutServer" {
		done, _, _ = unstructured.NestedString(o.Object, "status", "credentials", "rotated")
	}
	token := v1alpha1.RotateToken(o)
	return token != "" && token != done && token != before
}

func (r *Run) now() time.Time {
	if r.Clock != nil {
		return r.Clock()
	}
	return time.Now()
}
