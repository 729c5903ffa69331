package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TerdutTeam is one team on a TerdutServer, which may live in another
// namespace if its allowedTeams consent to that.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=tteam,categories=terdut
// +kubebuilder:metadata:annotations="terdut.ryuvia.com/version=v0.1.0"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Display Name",type=string,JSONPath=`.spec.displayName`
// +kubebuilder:printcolumn:name="Server",type=string,JSONPath=`.spec.serverRef.name`,priority=1
// +kubebuilder:printcolumn:name="ID",type=integer,JSONPath=`.status.teamID`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 200",message="metadata.name may have at most 200 characters: shorten it"
type TerdutTeam struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the team as it should be.
	Spec TerdutTeamSpec `json:"spec"`
	// status is the team as the operator last saw it.
	// +optional
	// +kubebuilder:default={}
	Status TerdutTeamStatus `json:"status,omitempty"`
}

// TerdutTeamSpec is the team as it should be.
//
// +kubebuilder:validation:XValidation:rule="self.serverRef.name == oldSelf.serverRef.name && has(self.serverRef.__namespace__) == has(oldSelf.serverRef.__namespace__) && (!has(self.serverRef.__namespace__) || self.serverRef.__namespace__ == oldSelf.serverRef.__namespace__)",message="serverRef is immutable: delete this TerdutTeam and create it again to move it to another server"
type TerdutTeamSpec struct {
	// serverRef names the TerdutServer that the team lives on.
	ServerRef ServerRef `json:"serverRef"`
	// displayName is the team's name on the server, unique there. A change
	// renames the team.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:XValidation:rule="!self.matches('-(terdut|retired)-[0-9a-f]*$')",message="displayName may not end in -terdut-... or -retired-...: the operator marks unfinished objects so; choose another name"
	DisplayName string `json:"displayName"`
	// oidc maps groups of the identity provider to the team. A group that is
	// not given here is none, on the server too.
	// +optional
	OIDC *TeamOIDC `json:"oidc,omitempty"`
	// adoptionPolicy says whether a team of this name that is on the server
	// already and that no TerdutTeam holds is taken over. Auto (default) does
	// so in the server's own namespace, and elsewhere with the leave of the
	// server's owner (allowedTeams.adopt); Never refuses always. A team that
	// this TerdutTeam holds is not affected.
	// +optional
	// +kubebuilder:default=Auto
	AdoptionPolicy AdoptionPolicy `json:"adoptionPolicy,omitempty"`
	// deletionPolicy is what becomes of the team on the server when this
	// TerdutTeam is deleted: Delete (default) deletes it with everything on it,
	// Orphan leaves it. The team's own key is revoked in both cases.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// AdoptionPolicy says whether a team that exists is taken over.
//
// +kubebuilder:validation:Enum=Auto;Never
type AdoptionPolicy string

const (
	// AdoptionAuto takes a team over where that is allowed.
	AdoptionAuto AdoptionPolicy = "Auto"
	// AdoptionNever takes none over.
	AdoptionNever AdoptionPolicy = "Never"
)

// ServerRef names a TerdutServer.
type ServerRef struct {
	// name of the TerdutServer.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`
	// namespace of the TerdutServer; the team's own when empty. Another one
	// needs that server's consent in allowedTeams.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	Namespace string `json:"namespace,omitempty"`
}

// TeamOIDC maps groups of the identity provider to a team.
type TeamOIDC struct {
	// memberGroup makes its members members of the team.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	MemberGroup string `json:"memberGroup,omitempty"`
	// ownerGroup makes its members owners of the team.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	OwnerGroup string `json:"ownerGroup,omitempty"`
}

// TerdutTeamStatus is the team as the operator last saw it.
type TerdutTeamStatus struct {
	RemoteStatus `json:",inline"`
	// teamID is the server-side ID of the team. What attaches to the team
	// waits for it.
	// +optional
	TeamID int64 `json:"teamID,omitempty"`
	// adoptable is the team on the server that has the wanted name, that nobody
	// holds, and that this TerdutTeam takes over as soon as the server's owner
	// gives leave.
	// +optional
	Adoptable *AdoptableTeam `json:"adoptable,omitempty"`
	// credentials is what the operator remembers of the team's own key, without
	// the key.
	// +optional
	Credentials *TeamCredentials `json:"credentials,omitempty"`
}

// AdoptableTeam is a team on the server that nobody holds.
type AdoptableTeam struct {
	// id is its server-side ID.
	ID int64 `json:"id"`
	// name is the displayName that found it.
	// +kubebuilder:validation:MaxLength=200
	Name string `json:"name"`
}

// TeamCredentials is the key of a team, without the key. It is written before
// the call that makes the key, and taken away after everything is cleaned up.
type TeamCredentials struct {
	// secretName is the Secret with the key, in the namespace of the TerdutTeam.
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
	// account is the name of the service account that the key belongs to.
	// +kubebuilder:validation:MaxLength=200
	Account string `json:"account"`
	// accountID is its server-side ID; 0 until it is made.
	// +optional
	AccountID int64 `json:"accountID,omitempty"`
	// keyID is the server-side ID of the key; 0 until it is made.
	// +optional
	KeyID int64 `json:"keyID,omitempty"`
}

// TerdutTeamList is a list of TerdutTeams.
//
// +kubebuilder:object:root=true
type TerdutTeamList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TerdutTeam `json:"items"`
}
