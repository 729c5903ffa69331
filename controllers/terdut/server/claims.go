package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/consent"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/refs"
)

// Claims is what the owner of a server has to know of who wants what on it.
// Tenants are told nothing of it: they do not read a TerdutServer.
type Claims struct {
	// Requests are the entries of spec.allowedTeams.adopt that would give leave
	// to TerdutTeams which wait for it, in order.
	Requests []v1alpha1.AdoptionLeave
	// Disputes are the objects that two resources have recorded, each with the
	// names of both, in order.
	Disputes []string
}

// claimTypes are the conditions that are made of Claims.
var claimTypes = []string{v1alpha1.ConditionAdoptionRequested, v1alpha1.ConditionDuplicateClaim}

// onServers are lists of the kinds that live on a server, with what an object of
// theirs is called there.
func onServers() []struct {
	list client.ObjectList
	kind string
	noun string
} {
	return []struct {
		list client.ObjectList
		kind string
		noun string
	}{
		{&v1alpha1.TerdutTeamList{}, "TerdutTeam", "team"},
		{&v1alpha1.TerdutEscalationRuleList{}, "TerdutEscalationRule", "escalation policy of team"},
		{&v1alpha1.TerdutDeadmanSwitchList{}, "TerdutDeadmanSwitch", "dead man's switch"},
		{&v1alpha1.TerdutAlertSourceList{}, "TerdutAlertSource", "integration"},
	}
}

// claims looks up who waits for leave and who disputes what, by indices that
// are empty as a rule.
func (r *Reconciler) claims(ctx context.Context, server *v1alpha1.TerdutServer) (*Claims, error) {
	key := client.ObjectKeyFromObject(server)
	asking := &v1alpha1.TerdutTeamList{}
	if err := r.Client.List(ctx, asking, client.MatchingFields{refs.AskingByServer: key.String()}); err != nil {
		return nil, fmt.Errorf("list the TerdutTeams that ask TerdutServer %s for a team: %w", key, err)
	}
	found := &Claims{Requests: requests(server, asking.Items)}
	for _, of := range onServers() {
		if err := r.Client.List(ctx, of.list, client.MatchingFields{refs.DisputedByServer: key.String()}); err != nil {
			return nil, fmt.Errorf("list the %ss that dispute an object on TerdutServer %s: %w", of.kind, key, err)
		}
		for _, o := range objects(of.list) {
			holders, err := r.holders(ctx, of.list, refs.RemoteOf(o).Remote)
			if err != nil {
				return nil, fmt.Errorf("list the %ss that have recorded one object: %w", of.kind, err)
			}
			if len(holders) > 1 {
				found.Disputes = append(found.Disputes, fmt.Sprintf("%s %d by %s %s", of.noun, refs.RemoteOf(o).Remote.ID, of.kind, strings.Join(holders, " and ")))
			}
		}
	}
	slices.Sort(found.Disputes)
	found.Disputes = slices.Compact(found.Disputes)
	return found, nil
}

// holders are the names of all objects of a kind that have recorded the same as
// one of them.
func (r *Reconciler) holders(ctx context.Context, like client.ObjectList, record *v1alpha1.RemoteIdentity) ([]string, error) {
	place := remote.Place{Server: types.NamespacedName{Namespace: record.ServerNamespace, Name: record.ServerName}, TeamID: record.TeamID}
	list := like.DeepCopyObject().(client.ObjectList) //nolint:forcetypeassert // a copy has the type of its original
	if _, isTeam := list.(*v1alpha1.TerdutTeamList); isTeam {
		place.TeamID = 0 // a team belongs to none
	}
	if err := r.Client.List(ctx, list, client.MatchingFields{remote.HolderIndex: remote.HolderKey(place, record.ID)}); err != nil {
		return nil, err
	}
	var names []string
	for _, o := range objects(list) {
		names = append(names, client.ObjectKeyFromObject(o).String())
	}
	slices.Sort(names)
	return names, nil
}

func objects(list client.ObjectList) []client.Object {
	var out []client.Object
	_ = meta.EachListItem(list, func(o runtime.Object) error {
		if one, ok := o.(client.Object); ok {
			out = append(out, one)
		}
		return nil
	})
	return out
}

// requests are the entries that would give leave to those teams: one for each
// namespace, with the names that its teams ask for and that it has no leave for
// yet.
func requests(server *v1alpha1.TerdutServer, teams []v1alpha1.TerdutTeam) []v1alpha1.AdoptionLeave {
	byNamespace := map[string][]string{}
	for i := range teams {
		if name, asks := asksFor(server, &teams[i]); asks {
			byNamespace[teams[i].Namespace] = append(byNamespace[teams[i].Namespace], name)
		}
	}
	var out []v1alpha1.AdoptionLeave
	for namespace, names := range byNamespace {
		slices.Sort(names)
		out = append(out, v1alpha1.AdoptionLeave{Namespace: namespace, Names: slices.Compact(names)})
	}
	slices.SortFunc(out, func(a, b v1alpha1.AdoptionLeave) int { return cmp.Compare(a.Namespace, b.Namespace) })
	return out
}

// asksFor is the team that a TerdutTeam asks for, if it still does. One that is
// not admitted to the server any more has nothing to ask.
func asksFor(server *v1alpha1.TerdutServer, team *v1alpha1.TerdutTeam) (string, bool) {
	wanted := team.Status.Adoptable
	switch {
	case wanted == nil, team.DeletionTimestamp != nil, team.Spec.AdoptionPolicy == v1alpha1.AdoptionNever,
		team.Spec.DisplayName != wanted.Name,
		!meta.IsStatusConditionTrue(team.Status.Conditions, v1alpha1.ConditionReferencesResolved),
		consent.MayAdopt(team.Namespace, server, wanted.Name):
		return "", false
	}
	return wanted.Name, true
}

// maxEntries bounds the entries that a message shows, in bytes: a condition is
// read by people, and half an entry is none.
const maxEntries = 600

// claimParts are conditions that are present only while they are true and keep
// nothing from being ready: a tenant must not be able to. What the pass did not
// come to stays as it was.
func claimParts(server *v1alpha1.TerdutServer, claims *Claims) []status.Part {
	if claims == nil {
		return carriedClaims(server)
	}
	var parts []status.Part
	if n := len(claims.Requests); n > 0 {
		parts = append(parts, status.True(v1alpha1.ConditionAdoptionRequested, v1alpha1.ReasonAdoptionRequested, ask(claims.Requests)))
	}
	if n := len(claims.Disputes); n > 0 {
		shown := claims.Disputes[:min(n, 5)]
		parts = append(parts, status.True(v1alpha1.ConditionDuplicateClaim, v1alpha1.ReasonDuplicateClaim, fmt.Sprintf(
			"%d objects are recorded twice, and nothing is written for either side until one is deleted, which does not touch the object: %s%s",
			n, strings.Join(shown, "; "), more(n-len(shown)))))
	}
	return parts
}

// carriedClaims are the conditions as they were.
func carriedClaims(server *v1alpha1.TerdutServer) []status.Part {
	var parts []status.Part
	for _, of := range claimTypes {
		if c := meta.FindStatusCondition(server.Status.Conditions, of); c != nil {
			parts = append(parts, status.Part{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message})
		}
	}
	return parts
}

// ask prints the entries to add. JSON is YAML that survives every name and
// every place to which it is copied.
func ask(requests []v1alpha1.AdoptionLeave) string {
	var entries strings.Builder
	left := 0
	for _, leave := range requests {
		fits := v1alpha1.AdoptionLeave{Namespace: leave.Namespace}
		for _, name := range leave.Names {
			longer := fits
			longer.Names = append(slices.Clone(fits.Names), name)
			if entries.Len()+len(entry(longer)) <= maxEntries {
				fits = longer
			}
		}
		if len(fits.Names) > 0 { // one without names would give leave for all
			entries.WriteString(entry(fits))
		}
		left += len(leave.Names) - len(fits.Names)
	}
	text := "TerdutTeams of other namespaces ask for teams that are on this server already and that nobody holds. " +
		"Whoever is given one holds it with everything on it. To give leave, add to spec.allowedTeams" + more(left) + ":\nadopt:\n"
	return text + entries.String()
}

func entry(leave v1alpha1.AdoptionLeave) string {
	raw, err := json.Marshal(leave)
	if err != nil {
		return "" // strings and lists of strings can always be encoded
	}
	return "- " + string(raw) + "\n"
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n)
}

// claimEvents tell once of each new message.
func claimEvents(before, after []metav1.Condition) []status.Event {
	var out []status.Event
	for _, of := range claimTypes {
		old, now := meta.FindStatusCondition(before, of), meta.FindStatusCondition(after, of)
		if now != nil && (old == nil || old.Message != now.Message) {
			out = append(out, status.Event{Warning: true, Reason: now.Reason, Message: now.Message})
		}
	}
	return out
}
