package attach

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
)

// Load reads what a status remembers.
func Load[D any](from *v1alpha1.RemoteStatus) remote.State[D] {
	s := remote.State[D]{Conditions: from.Conditions, ObservedGeneration: from.ObservedGeneration, Reconciled: from.Reconciled}
	if r := from.Remote; r != nil {
		s.Record = &remote.Record{
			Place: remote.Place{
				Server:    types.NamespacedName{Namespace: r.ServerNamespace, Name: r.ServerName},
				ServerUID: r.ServerUID, TeamID: r.TeamID,
			},
			ID: r.ID, CreatedAt: r.CreatedAt, Name: r.Name, AskedName: r.AskedName, OwnerUID: r.OwnerUID, Adopted: r.Adopted,
		}
	}
	if p := from.PendingCreate; p != nil {
		s.Pending = &remote.Pending{OwnerUID: p.OwnerUID, Name: p.Name, ID: p.ID, Replaces: p.Replaces, Rotate: p.Rotate}
	}
	for _, r := range from.Retiring {
		old := remote.Retired{ID: r.ID, CreatedAt: r.CreatedAt}
		if r.DeleteAfter != nil {
			old.DeleteAfter = r.DeleteAfter.Time
		}
		s.Retiring = append(s.Retiring, old)
	}
	return s
}

// Store writes it back.
func Store[D any](to *v1alpha1.RemoteStatus, s remote.State[D]) {
	*to = v1alpha1.RemoteStatus{ObservedGeneration: s.ObservedGeneration, Conditions: s.Conditions, Reconciled: s.Reconciled}
	if to.ObservedGeneration == 0 {
		to.ObservedGeneration = -1 // a generation is never 0: nothing was applied yet
	}
	if r := s.Record; r != nil {
		to.Remote = &v1alpha1.RemoteIdentity{
			ServerNamespace: r.Server.Namespace, ServerName: r.Server.Name, ServerUID: r.ServerUID,
			TeamID: r.TeamID, ID: r.ID, CreatedAt: r.CreatedAt,
			Name: r.Name, AskedName: r.AskedName, OwnerUID: r.OwnerUID, Adopted: r.Adopted,
		}
	}
	if p := s.Pending; p != nil {
		to.PendingCreate = &v1alpha1.PendingCreate{OwnerUID: p.OwnerUID, Name: p.Name, ID: p.ID, Replaces: p.Replaces, Rotate: p.Rotate}
	}
	for _, r := range s.Retiring {
		old := v1alpha1.RetiringObject{ID: r.ID, CreatedAt: r.CreatedAt}
		if !r.DeleteAfter.IsZero() {
			at := metav1.NewTime(r.DeleteAfter)
			old.DeleteAfter = &at
		}
		to.Retiring = append(to.Retiring, old)
	}
}

// Time spells a created_at as a record keeps it; empty where the server gave
// none.
func Time(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
