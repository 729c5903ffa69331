package server

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/consent"
)

// Unwatched is what concerns a server in namespaces at which the operator was
// told not to look. It is empty where the whole cluster is watched.
type Unwatched struct {
	// Mirrors are the namespaces in which a copy of the operator's key is
	// recorded.
	Mirrors []string
	// Admitted are the namespaces that spec.allowedTeams names.
	Admitted []string
	// Open is true when spec.allowedTeams names none and may admit any. How
	// many there are cannot be told.
	Open bool
}

func (r *Reconciler) unwatched(server *v1alpha1.TerdutServer) Unwatched {
	if r.Scope.Whole() {
		return Unwatched{}
	}
	admitted, bounded := consent.Bound(server)
	u := Unwatched{Admitted: r.Scope.Unseen(admitted), Open: !bounded}
	if known := server.Status.Credentials; known != nil {
		u.Mirrors = r.Scope.Unseen(known.MirrorNamespaces)
	}
	return u
}

// parts is the condition, present only while there is something to say.
func (u Unwatched) parts() []status.Part {
	var says []string
	switch {
	case u.Open:
		says = append(says, "spec.allowedTeams may admit namespaces that this operator does not watch and cannot count: "+
			"what is there stays without a status until --watch-namespaces names them too")
	case len(u.Admitted) > 0:
		says = append(says, fmt.Sprintf("spec.allowedTeams admits %d namespaces that this operator does not watch (%s): "+
			"what is there stays without a status until --watch-namespaces names them too", len(u.Admitted), namesOf(u.Admitted)))
	}
	if len(u.Mirrors) > 0 {
		says = append(says, fmt.Sprintf("%d namespaces with a copy of the operator's key are not watched any more (%s): "+
			"the copies are neither renewed nor taken away until --watch-namespaces names them again", len(u.Mirrors), namesOf(u.Mirrors)))
	}
	if len(says) == 0 {
		return nil
	}
	return []status.Part{status.True(v1alpha1.ConditionNamespaceNotWatched, v1alpha1.ReasonNamespaceNotWatched, strings.Join(says, "; "))}
}

// unwatchedEvents tells once when the condition comes.
func unwatchedEvents(before, after []metav1.Condition) []status.Event {
	c := meta.FindStatusCondition(after, v1alpha1.ConditionNamespaceNotWatched)
	if c == nil || meta.FindStatusCondition(before, c.Type) != nil {
		return nil
	}
	return []status.Event{{Warning: true, Reason: c.Reason, Message: c.Message}}
}
