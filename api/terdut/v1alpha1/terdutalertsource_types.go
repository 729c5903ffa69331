package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TerdutAlertSource is an integration of a team: a webhook that alerts are
// sent to. Its URL and key are given out once, by the server, and stand in a
// Secret that this resource owns.
//
// A change of kind, the loss of that Secret, or the annotation
// terdut.ryuvia.com/rotate makes a new integration with a new key. The old one
// works until rotationGrace is over: until then, whatever sends to its URL must
// have read the Secret again.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=tsrc,categories=terdut
// +kubebuilder:metadata:annotations="terdut.ryuvia.com/version=v0.1.0"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.kind`
// +kubebuilder:printcolumn:name="Secret",type=string,JSONPath=`.status.webhookURLSecretRef.name`
// +kubebuilder:printcolumn:name="ID",type=integer,JSONPath=`.status.integrationID`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 200",message="metadata.name may have at most 200 characters: shorten it"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.existingKeySecretRef) || self.spec.existingKeySecretRef.name != (has(self.spec.webhookSecretName) && self.spec.webhookSecretName != \"\" ? self.spec.webhookSecretName : self.metadata.name + '-terdut-webhook')",message="spec.existingKeySecretRef names the webhook Secret, which the operator writes: keep the key that is in use in a Secret of another name"
type TerdutAlertSource struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the integration as it should be.
	Spec TerdutAlertSourceSpec `json:"spec"`
	// status is the integration as the operator last saw it.
	// +optional
	// +kubebuilder:default={}
	Status TerdutAlertSourceStatus `json:"status,omitempty"`
}

// AlertSourceKind is what sends the alerts.
//
// +kubebuilder:validation:Enum=alertmanager
type AlertSourceKind string

// AlertSourceAlertmanager is a Prometheus Alertmanager.
const AlertSourceAlertmanager AlertSourceKind = "alertmanager"

// TerdutAlertSourceSpec is the integration as it should be.
//
// +kubebuilder:validation:XValidation:rule="self.teamRef.name == oldSelf.teamRef.name",message="teamRef is immutable: delete this TerdutAlertSource and create it again for another team"
type TerdutAlertSourceSpec struct {
	// teamRef names the TerdutTeam that is paged.
	TeamRef LocalRef `json:"teamRef"`
	// kind is what sends the alerts. Its change makes a new key.
	Kind AlertSourceKind `json:"kind"`
	// name of the integration, unique in its team. A change renames it and
	// keeps its key.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:XValidation:rule="!self.matches('-(terdut|retired)-[0-9a-f]*$')",message="name may not end in -terdut-... or -retired-...: the operator marks unfinished objects so; choose another name"
	Name string `json:"name"`
	// deletionPolicy is what becomes of the integration on the server when this
	// TerdutAlertSource is deleted: Delete (default) deletes it and its webhook
	// Secret, Orphan leaves both, the Secret without an owner.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// webhookSecretName is the Secret that url, key and internalURL of the
	// webhook are written to; <name of this resource>-terdut-webhook when empty.
	// A change moves them there, with the key that they have. A Secret that
	// this resource does not control is never written.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$`
	WebhookSecretName string `json:"webhookSecretName,omitempty"`
	// existingKeySecretRef is a Secret with the url and the key of an
	// integration of this name that exists already. The server tells a key
	// once, so without it that integration is not taken over. It is read only
	// then, and may be taken away afterwards.
	// +optional
	ExistingKeySecretRef *LocalRef `json:"existingKeySecretRef,omitempty"`
	// rotationGrace is how long an integration goes on working after a new one
	// has taken its place; 1h when not set. 0s deletes it at once, as after a
	// leak. Its end is recorded when that happens: a later change counts for
	// the next time.
	// +optional
	RotationGrace *Grace `json:"rotationGrace,omitempty"`
}

// TerdutAlertSourceStatus is the integration as the operator last saw it.
type TerdutAlertSourceStatus struct {
	RemoteStatus `json:",inline"`
	// integrationID is the server-side ID of the integration.
	// +optional
	IntegrationID int64 `json:"integrationID,omitempty"`
	// webhookURLSecretRef is the Secret that holds url, key and internalURL.
	// +optional
	WebhookURLSecretRef *LocalRef `json:"webhookURLSecretRef,omitempty"`
	// rotated is the value of the annotation terdut.ryuvia.com/rotate that was
	// last acted on, cut to 256 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Rotated string `json:"rotated,omitempty"`
}

// WebhookSecret is the name of the Secret that the spec asks for.
func (s *TerdutAlertSource) WebhookSecret() string {
	if s.Spec.WebhookSecretName != "" {
		return s.Spec.WebhookSecretName
	}
	return WebhookSecretName(s.Name)
}

// TerdutAlertSourceList is a list of TerdutAlertSources.
//
// +kubebuilder:object:root=true
type TerdutAlertSourceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TerdutAlertSource `json:"items"`
}
