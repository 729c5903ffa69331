package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TerdutAlertSource is an integration of a team: a webhook that alerts are
// sent to. Its URL and key are given out once, by the server, and stand in a
// Secret that this resource owns.
//
// A change of kind, or the loss of that Secret, makes a new integration with a
// new key: whatever sends to the old URL stops working until it has read the
// Secret again.
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
}

// TerdutAlertSourceList is a list of TerdutAlertSources.
//
// +kubebuilder:object:root=true
type TerdutAlertSourceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TerdutAlertSource `json:"items"`
}
