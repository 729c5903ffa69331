package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TerdutDeadmanSwitch is a dead man's switch of a team: it opens an incident
// when a matching alert stays away for longer than its timeout.
//
// The server can only make and delete switches. A change of matcher, timeout
// or severity therefore makes the switch again, which starts its timer anew. An
// equal one under a provisional name stands in meanwhile, and proves that the
// server takes the new values: what it refuses leaves the old switch as it is. A
// change of the name makes the new switch first.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=tdms,categories=terdut
// +kubebuilder:metadata:annotations="terdut.ryuvia.com/version=v0.1.0"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Switch",type=string,JSONPath=`.spec.name`
// +kubebuilder:printcolumn:name="Timeout",type=string,JSONPath=`.spec.timeout`
// +kubebuilder:printcolumn:name="ID",type=integer,JSONPath=`.status.switchID`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 200",message="metadata.name may have at most 200 characters: shorten it"
type TerdutDeadmanSwitch struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the switch as it should be.
	Spec TerdutDeadmanSwitchSpec `json:"spec"`
	// status is the switch as the operator last saw it.
	// +optional
	// +kubebuilder:default={}
	Status TerdutDeadmanSwitchStatus `json:"status,omitempty"`
}

// TerdutDeadmanSwitchSpec is the switch as it should be.
//
// +kubebuilder:validation:XValidation:rule="self.teamRef.name == oldSelf.teamRef.name",message="teamRef is immutable: delete this TerdutDeadmanSwitch and create it again for another team"
type TerdutDeadmanSwitchSpec struct {
	// teamRef names the TerdutTeam that is paged.
	TeamRef LocalRef `json:"teamRef"`
	// name of the switch, unique in its team.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:XValidation:rule="!self.matches('-(terdut|retired)-[0-9a-f]*$')",message="name may not end in -terdut-... or -retired-...: the operator marks unfinished objects so; choose another name"
	Name string `json:"name"`
	// matcher of the alert that feeds the switch: label=value pairs separated
	// by commas, such as alertname=Watchdog,cluster=prod.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Matcher string `json:"matcher"`
	// timeout after which a switch that was not fed opens an incident.
	Timeout Duration `json:"timeout"`
	// severity of that incident.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9_-]+$`
	Severity string `json:"severity"`
	// deletionPolicy is what becomes of the switch on the server when this
	// TerdutDeadmanSwitch is deleted: Delete (default) deletes it, Orphan leaves
	// it running.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// TerdutDeadmanSwitchStatus is the switch as the operator last saw it.
type TerdutDeadmanSwitchStatus struct {
	RemoteStatus `json:",inline"`
	// switchID is the server-side ID of the switch.
	// +optional
	SwitchID int64 `json:"switchID,omitempty"`
	// applied is what the switch on the server was made from. Only a
	// difference to it makes the operator replace the switch.
	// +optional
	Applied *AppliedSwitch `json:"applied,omitempty"`
}

// AppliedSwitch is what a switch was made from.
type AppliedSwitch struct {
	// name of the switch.
	// +kubebuilder:validation:MaxLength=200
	Name string `json:"name"`
	// matcher of the alert that feeds it.
	// +kubebuilder:validation:MaxLength=1024
	Matcher string `json:"matcher"`
	// timeout after which it fires.
	Timeout Duration `json:"timeout"`
	// severity of the incident that it opens.
	// +kubebuilder:validation:MaxLength=63
	Severity string `json:"severity"`
}

// TerdutDeadmanSwitchList is a list of TerdutDeadmanSwitches.
//
// +kubebuilder:object:root=true
type TerdutDeadmanSwitchList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TerdutDeadmanSwitch `json:"items"`
}
