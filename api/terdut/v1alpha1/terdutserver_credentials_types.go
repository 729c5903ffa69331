package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ServerBootstrap gives the operator an identity on a server that somebody
// else has bootstrapped.
type ServerBootstrap struct {
	// adminKeySecretRef is an API key of an administrator, in the server's
	// namespace. It is read only when the server refuses to be bootstrapped.
	// Its key is "key" when empty.
	// +optional
	AdminKeySecretRef *SecretKeyRef `json:"adminKeySecretRef,omitempty"`
}

// Grace is a span of time in Go's notation, such as 0s, 90s, 15m or 6h; unlike
// a Duration it may be 0.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,3})?h|[0-9]{1,7}([.][0-9]{1,3})?(m|s|ms))+$')",message="must be 0s or longer: write a duration such as 0s, 90s, 15m or 6h"
type Grace string

// CredentialsMode says what the namespaces of teams get.
//
// +kubebuilder:validation:Enum=Auto;Scoped;Mirrored;OperatorOnly
type CredentialsMode string

const (
	// CredentialsAuto is Scoped where the server can, else OperatorOnly.
	CredentialsAuto CredentialsMode = "Auto"
	// CredentialsScoped gives each TerdutTeam a key of its own, which reaches
	// that team only.
	CredentialsScoped CredentialsMode = "Scoped"
	// CredentialsMirrored copies the operator's key, which reaches every team
	// on the server.
	CredentialsMirrored CredentialsMode = "Mirrored"
	// CredentialsOperatorOnly gives nothing.
	CredentialsOperatorOnly CredentialsMode = "OperatorOnly"
)

// ServerCredentials says how the operator keeps its own key, and what the
// namespaces of teams get.
type ServerCredentials struct {
	// mode says what the namespaces of teams get, for tools of their own; the
	// operator needs none of it. Auto when not set. Scoped puts into the
	// namespace of each TerdutTeam a key that reaches that team only; the
	// server has to offer service accounts. Mirrored copies the operator's key
	// into every other namespace with a permitted TerdutTeam: whoever reads it
	// is an administrator of the whole server. OperatorOnly gives nothing. Auto
	// is Scoped where the server can, else OperatorOnly, and stays Scoped once
	// it was. A change cleans up after the mode before.
	// +optional
	Mode CredentialsMode `json:"mode,omitempty"`
	// rotateAfter is the age at which the operator exchanges its key for a new
	// one. Not set means: only when the annotation terdut.ryuvia.com/rotate
	// asks for it.
	// +optional
	RotateAfter Duration `json:"rotateAfter,omitempty"`
	// gracePeriod is how long an exchanged key stays valid after the new one
	// stands in every Secret; 1h when not set. 0s revokes it at once, as after
	// a leak. Its end is recorded when the exchange happens: a later change
	// counts for the next one. A further exchange waits for this end.
	// +optional
	GracePeriod *Grace `json:"gracePeriod,omitempty"`
}

// ServerCredentialsStatus is what the operator remembers of its keys, without
// the keys.
type ServerCredentialsStatus struct {
	// rotated is the value of the annotation terdut.ryuvia.com/rotate that was
	// last acted on, cut to 256 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Rotated string `json:"rotated,omitempty"`
	// retiring is a key of the operator's that was exchanged and is still to
	// be revoked.
	// +optional
	Retiring *RetiringKey `json:"retiring,omitempty"`
	// mode is what the namespaces of teams get: Scoped, Mirrored or
	// OperatorOnly. Empty until it is known what the server can.
	// +optional
	Mode CredentialsMode `json:"mode,omitempty"`
	// mirrors counts the namespaces that hold a copy of the operator's key.
	// +optional
	Mirrors int32 `json:"mirrors,omitempty"`
	// mirrorNamespaces are the first 50 of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=63
	MirrorNamespaces []string `json:"mirrorNamespaces,omitempty"`
	// exposed are the namespaces that had a copy of a key and lost it, for as
	// long as that key is valid.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	Exposed []ExposedKey `json:"exposed,omitempty"`
}

// ExposedKey is a key of the operator's that may be known where it is not
// wanted any more.
type ExposedKey struct {
	// namespace that had a copy.
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// keyID is the server-side ID of the key; 0 where it is not known.
	// +optional
	KeyID int64 `json:"keyID,omitempty"`
}

// RetiringKey is an API key that waits to be revoked.
type RetiringKey struct {
	// keyID is its server-side ID.
	KeyID int64 `json:"keyID"`
	// userID is the server-side ID of the user or service account that it
	// belongs to.
	UserID int64 `json:"userID"`
	// serviceAccount is true when userID is that of a service account.
	// +optional
	ServiceAccount bool `json:"serviceAccount,omitempty"`
	// revokeAfter is the time from which on it is revoked.
	RevokeAfter metav1.Time `json:"revokeAfter"`
}

// CapabilityState says whether a server has an optional part.
//
// +kubebuilder:validation:Enum=Present;Absent;Unknown
type CapabilityState string

// States of a capability.
const (
	CapabilityPresent CapabilityState = "Present"
	CapabilityAbsent  CapabilityState = "Absent"
	CapabilityUnknown CapabilityState = "Unknown"
)

// Names of capabilities.
const (
	CapabilityServiceAccounts = "service-accounts"
	CapabilityChosenKeys      = "chosen-keys"
	CapabilityListKeys        = "list-keys"
	CapabilityMe              = "me"
	CapabilityVersion         = "version"
)

// ServerCapability is an optional part of a terdut-server's API.
type ServerCapability struct {
	// name of the part.
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// state is Present, Absent or Unknown. Absent needs the server's own word,
	// or three probes: a proxy's answer looks like a missing part.
	State CapabilityState `json:"state"`
	// source is how it was found: version (the server said so) or probe.
	// +kubebuilder:validation:Enum=version;probe
	Source string `json:"source"`
}
