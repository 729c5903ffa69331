package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TerdutEscalationRule is the escalation policy of a team: who is paged, in
// which order, how often. A team has one policy; a second rule for the same
// team waits until the first is deleted.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=tesc,categories=terdut
// +kubebuilder:metadata:annotations="terdut.ryuvia.com/version=v0.1.0"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Team",type=string,JSONPath=`.spec.teamRef.name`
// +kubebuilder:printcolumn:name="Team ID",type=integer,JSONPath=`.status.remote.teamID`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 200",message="metadata.name may have at most 200 characters: shorten it"
type TerdutEscalationRule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the policy as it should be.
	Spec TerdutEscalationRuleSpec `json:"spec"`
	// status is the policy as the operator last saw it.
	// +optional
	// +kubebuilder:default={}
	Status TerdutEscalationRuleStatus `json:"status,omitempty"`
}

// TerdutEscalationRuleSpec is the policy as it should be.
//
// +kubebuilder:validation:XValidation:rule="self.teamRef.name == oldSelf.teamRef.name",message="teamRef is immutable: delete this TerdutEscalationRule and create it again for another team"
type TerdutEscalationRuleSpec struct {
	// teamRef names the TerdutTeam whose policy this is.
	TeamRef LocalRef `json:"teamRef"`
	// repeatCount is how often the levels are gone through again after the
	// last one. Default 0.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	RepeatCount int32 `json:"repeatCount"`
	// fallbackTopic is the ntfy topic that is paged when nobody else can be.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[-_A-Za-z0-9]*$`
	FallbackTopic string `json:"fallbackTopic,omitempty"`
	// levels are gone through in this order.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	Levels []EscalationLevel `json:"levels"`
	// deletionPolicy is what becomes of the policy on the server when this
	// TerdutEscalationRule is deleted: Delete (default) replaces it by that of
	// the next rule that waits for the team, or clears it; Orphan leaves it.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// EscalationLevel is one step of a policy.
//
// +kubebuilder:validation:XValidation:rule="self.targets.all(t, self.targets.exists_one(o, o.kind == t.kind && (has(o.username) ? o.username : \"\") == (has(t.username) ? t.username : \"\")))",message="a target stands twice in this level: remove one"
type EscalationLevel struct {
	// timeout after which an incident that nobody acknowledged goes on to the
	// next level.
	Timeout Duration `json:"timeout"`
	// targets are paged together, in this order.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	Targets []EscalationTarget `json:"targets"`
}

// TargetKind says who a target is.
//
// +kubebuilder:validation:Enum=oncall;user
type TargetKind string

const (
	// TargetOnCall is whoever is on call at that moment.
	TargetOnCall TargetKind = "oncall"
	// TargetUser is one user by name.
	TargetUser TargetKind = "user"
)

// EscalationTarget is somebody to page.
//
// +kubebuilder:validation:XValidation:rule="(self.kind == 'user') == (has(self.username) && self.username != \"\")",message="username is required with kind: user and has no meaning with kind: oncall: set both or neither"
type EscalationTarget struct {
	// kind is oncall or user.
	Kind TargetKind `json:"kind"`
	// username of a user of the server.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	Username string `json:"username,omitempty"`
}

// TerdutEscalationRuleStatus is the policy as the operator last saw it.
type TerdutEscalationRuleStatus struct {
	RemoteStatus `json:",inline"`
}

// TerdutEscalationRuleList is a list of TerdutEscalationRules.
//
// +kubebuilder:object:root=true
type TerdutEscalationRuleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TerdutEscalationRule `json:"items"`
}
