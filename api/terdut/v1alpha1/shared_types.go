package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Duration is a positive span of time in Go's notation, such as 90s, 15m or
// 6h. It is a string on purpose: one value that a client cannot decode would
// fail the list of the whole kind.
//
// The bounds on the digits keep every value within what both CEL and Go can
// hold, about 290 years.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,3})?h|[0-9]{1,7}([.][0-9]{1,3})?(m|s|ms))+$') && duration(self) > duration('0s')",message="must be longer than 0s: write a duration such as 90s, 15m, 6h or 1h30m"
type Duration string

// SecretKeyRef names one key of a Secret in the namespace of the object that
// bears the reference.
type SecretKeyRef struct {
	// name of the Secret. Empty means that the reference is not set.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$`
	Name string `json:"name,omitempty"`
	// key inside the Secret. The field that holds the reference says which key
	// is read when it is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]*$`
	Key string `json:"key,omitempty"`
}

// LocalRef names an object in the namespace of the object that bears the
// reference.
type LocalRef struct {
	// name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`
}

// DeletionPolicy says what becomes of an object on the server when the
// resource that holds it is deleted.
//
// +kubebuilder:validation:Enum=Delete;Orphan
type DeletionPolicy string

const (
	// DeletionDelete deletes the object; an escalation policy is cleared, or
	// replaced by that of the next rule that waits.
	DeletionDelete DeletionPolicy = "Delete"
	// DeletionOrphan leaves the object as it is.
	DeletionOrphan DeletionPolicy = "Orphan"
)

// RemoteStatus is what every kind that lives on a server records about its
// identity there. It is the memory that makes a crash between two steps
// harmless, so the operator carries it forward in every status it writes.
type RemoteStatus struct {
	// conditions say whether the object stands on the server as the spec asks:
	// Ready, ReferencesResolved, Synced; Degraded, Reconciling and Stalled are
	// present only when true.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the last generation that was applied to the
	// server; -1 until the first one was.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// reconciled is the value of the annotation terdut.ryuvia.com/reconcile for
	// which everything was last looked at anew, cut to 256 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Reconciled string `json:"reconciled,omitempty"`
	// remote is the object on the server that this resource holds.
	// +optional
	Remote *RemoteIdentity `json:"remote,omitempty"`
	// pendingCreate is written before the call that creates an object and
	// taken away with the write of Remote.
	// +optional
	PendingCreate *PendingCreate `json:"pendingCreate,omitempty"`
	// retiring are objects of ours on the server that have been replaced and
	// are still to be deleted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2
	Retiring []RetiringObject `json:"retiring,omitempty"`
}

// RemoteIdentity is one object on one server, as it was when it was recorded.
type RemoteIdentity struct {
	// serverNamespace is the namespace of the TerdutServer.
	// +kubebuilder:validation:MaxLength=63
	ServerNamespace string `json:"serverNamespace"`
	// serverName is the name of the TerdutServer.
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName"`
	// serverUID is the UID of the TerdutServer.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	ServerUID types.UID `json:"serverUID"`
	// teamID is the server-side ID of the team that the object belongs to; for
	// a TerdutTeam its own ID.
	TeamID int64 `json:"teamID"`
	// id is the server-side ID of the object; for an escalation policy, which
	// has none, the ID of its team.
	ID int64 `json:"id"`
	// createdAt is the object's created_at as the server gave it (RFC 3339).
	// Empty where the server gives none.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CreatedAt string `json:"createdAt,omitempty"`
	// name is the object's name as the server gave it last; empty for an
	// escalation policy, which has none.
	// +optional
	// +kubebuilder:validation:MaxLength=400
	Name string `json:"name,omitempty"`
	// askedName is the name that the spec asked for, where the server spells
	// that differently. It is not asked for again.
	// +optional
	// +kubebuilder:validation:MaxLength=400
	AskedName string `json:"askedName,omitempty"`
	// ownerUID is the UID of the resource that wrote this record. A record
	// under another UID was copied or restored and is only a hint.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	OwnerUID types.UID `json:"ownerUID"`
	// adopted is true when the object existed before this resource did.
	// +optional
	Adopted bool `json:"adopted,omitempty"`
}

// PendingCreate is the intent to create one object on the server.
type PendingCreate struct {
	// ownerUID is the UID of the resource that wrote this intent. One under
	// another UID was copied or restored and counts for nothing.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	OwnerUID types.UID `json:"ownerUID,omitempty"`
	// name that the create call carries. It is never computed again.
	// +kubebuilder:validation:MaxLength=400
	Name string `json:"name"`
	// id of the object once the server has answered.
	// +optional
	ID int64 `json:"id,omitempty"`
	// replaces is the ID of the object that the new one takes the place of.
	// +optional
	Replaces int64 `json:"replaces,omitempty"`
	// rotate is the value of the annotation terdut.ryuvia.com/rotate that the
	// creation answers; only alert sources have it.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Rotate string `json:"rotate,omitempty"`
}

// RetiringObject is an object of ours on the server that waits for its DELETE.
type RetiringObject struct {
	// id is its server-side ID.
	ID int64 `json:"id"`
	// createdAt is its created_at as the server gave it (RFC 3339).
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CreatedAt string `json:"createdAt,omitempty"`
	// deleteAfter is the time from which on it may be deleted; absent means at
	// once.
	// +optional
	DeleteAfter *metav1.Time `json:"deleteAfter,omitempty"`
}
