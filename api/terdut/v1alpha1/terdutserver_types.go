package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TerdutServer is one terdut-server install: its Deployment, its Service, its
// database wiring, the operator's identity on it, and the consent to teams of
// other namespaces.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=tsrv,categories=terdut
// +kubebuilder:metadata:annotations="terdut.ryuvia.com/version=v0.1.0"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Service",type=string,JSONPath=`.status.serviceName`
// +kubebuilder:printcolumn:name="Teams",type=integer,JSONPath=`.status.attachedTeams`
// +kubebuilder:printcolumn:name="Tag",type=string,JSONPath=`.spec.image.tag`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 50 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name becomes the name of a Service: use at most 50 characters, lower case letters, digits and '-', beginning with a letter"
type TerdutServer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the install as it should be.
	Spec TerdutServerSpec `json:"spec"`
	// status is the install as the operator last saw it.
	// +optional
	// +kubebuilder:default={}
	Status TerdutServerStatus `json:"status,omitempty"`
}

// TerdutServerSpec is the install as it should be.
//
// +kubebuilder:validation:XValidation:rule="has(self.external) || has(self.database)",message="database is required: name one by dsn or by reference, or set external for a server that is installed elsewhere"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || (!has(self.image) && !has(self.database) && !has(self.replicas))",message="external is a server that is installed elsewhere: remove image, database and replicas, or remove external"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !has(self.bootstrap)",message="an external server is never bootstrapped: move bootstrap.adminKeySecretRef to external.adminKeySecretRef, and remove bootstrap"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !(has(self.resources) || has(self.imagePullSecrets) || has(self.nodeSelector) || has(self.tolerations) || has(self.affinity) || has(self.topologySpreadConstraints) || has(self.priorityClassName) || has(self.podLabels) || has(self.podAnnotations) || has(self.extraEnv) || has(self.extraVolumes) || has(self.extraVolumeMounts) || has(self.podSecurityContext) || has(self.containerSecurityContext) || has(self.takeOver) || (has(self.networking) && has(self.networking.gatewayListener) && self.networking.gatewayListener != \"\"))",message="external is a server that is installed elsewhere: remove what shapes pods, takeOver and networking.gatewayListener, or remove external"
// +kubebuilder:validation:XValidation:rule="!has(self.extraVolumeMounts) || self.extraVolumeMounts.all(m, has(self.extraVolumes) && self.extraVolumes.exists(v, v.name == m.name))",message="every one of extraVolumeMounts bears the name of one of extraVolumes: add the volume or correct the name"
type TerdutServerSpec struct {
	// external is a terdut-server that is installed elsewhere. Teams and what
	// belongs to them work on it as on any other.
	// +optional
	External *ServerExternal `json:"external,omitempty"`
	// image of terdut-server.
	// +optional
	Image *ServerImage `json:"image,omitempty"`
	// replicas of the Deployment; 1 when not set. terdut-server is not tested
	// for more than one: with two, two sweepers and two notifiers run on one
	// database.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	Replicas *int32 `json:"replicas,omitempty"`

	ServerPod `json:",inline"`

	// takeOver is Helm to take over the objects of a Helm release that bear the
	// name of this TerdutServer: the Deployment, the Service and the HTTPRoute,
	// and nothing else. They are kept, not made anew. Not set, an object of
	// somebody else is left alone and reported. It may be removed once
	// everything is taken over.
	// +optional
	TakeOver TakeOver `json:"takeOver,omitempty"`
	// networking says how the server is reached.
	// +optional
	// +kubebuilder:default={}
	Networking ServerNetworking `json:"networking,omitempty"`
	// database that the server keeps its state in. The operator provisions
	// none; it wires one up that exists. Required unless external is set.
	// +optional
	Database ServerDatabase `json:"database,omitzero"`
	// sweeper ages alerts out.
	// +optional
	Sweeper *ServerSweeper `json:"sweeper,omitempty"`
	// deadman is the server's own dead man's switch.
	// +optional
	Deadman *ServerDeadman `json:"deadman,omitempty"`
	// notify says where pages are sent.
	// +optional
	Notify *ServerNotify `json:"notify,omitempty"`
	// oidc is single sign-on.
	// +optional
	OIDC *ServerOIDC `json:"oidc,omitempty"`
	// passwordLogin allows signing in with a password. Default true.
	// +optional
	// +kubebuilder:default=true
	PasswordLogin *bool `json:"passwordLogin,omitempty"`
	// bootstrap gives the operator an identity on a server that somebody else
	// has bootstrapped.
	// +optional
	Bootstrap *ServerBootstrap `json:"bootstrap,omitempty"`
	// credentials says how the operator keeps its own key, and what the
	// namespaces of teams get.
	// +optional
	Credentials *ServerCredentials `json:"credentials,omitempty"`
	// allowedTeams is the consent to TerdutTeams of other namespaces. Teams of
	// the server's own namespace never need it.
	// +optional
	// +kubebuilder:default={}
	AllowedTeams AllowedTeams `json:"allowedTeams,omitempty"`
}

// ServerNetworking says how the server is reached.
//
// +kubebuilder:validation:XValidation:rule="!has(self.gatewayListener) || self.gatewayListener == \"\" || (has(self.hostname) && self.hostname != \"\")",message="gatewayListener needs hostname, which is what the Gateway routes: set both"
type ServerNetworking struct {
	// hostname under which people reach the server, without scheme. It goes
	// into the links that the server sends. Empty means: in the cluster only.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	Hostname string `json:"hostname,omitempty"`
	// servicePort is the port of the Service and of the container. Default 8080.
	// +optional
	// +kubebuilder:default=8080
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	ServicePort int32 `json:"servicePort,omitempty"`
	// gatewayListener is the Gateway that routes hostname to the Service, as
	// <namespace>/<gateway> or <namespace>/<gateway>/<section>. An HTTPRoute is
	// made for it, once the server has an administrator: an empty server gives
	// that role to the first caller. Empty means: no route.
	// +optional
	// +kubebuilder:validation:MaxLength=571
	// +kubebuilder:validation:XValidation:rule="self == \"\" || self.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?(/[a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$')",message="gatewayListener reads <namespace>/<gateway> or <namespace>/<gateway>/<section>, such as gateways/public/https"
	GatewayListener string `json:"gatewayListener,omitempty"`
}

// AllowedTeams is the consent to TerdutTeams of other namespaces.
type AllowedTeams struct {
	// namespaces whose TerdutTeams may refer to this server.
	// +optional
	// +kubebuilder:default={from: None}
	Namespaces AllowedNamespaces `json:"namespaces,omitempty"`
	// adopt gives namespaces that are admitted leave to take over teams that are
	// on the server already and that no TerdutTeam holds. Whoever gets such a
	// team holds it with everything on it. The server's own namespace needs no
	// leave. Without it such a TerdutTeam reads NameConflict, and condition
	// AdoptionRequested of this TerdutServer has the entry to add.
	// +optional
	// +listType=map
	// +listMapKey=namespace
	// +kubebuilder:validation:MaxItems=100
	Adopt []AdoptionLeave `json:"adopt,omitempty"`
}

// AdoptionLeave lets one namespace take over teams that exist.
type AdoptionLeave struct {
	// namespace of the TerdutTeams.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace"`
	// names of the teams, as displayName of the TerdutTeam has them. None means
	// every team that nobody holds.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=200
	Names []string `json:"names,omitempty"`
}

// FromNamespaces says which namespaces a consent covers.
//
// +kubebuilder:validation:Enum=None;Same;All;Selector
type FromNamespaces string

const (
	// FromNone admits no other namespace.
	FromNone FromNamespaces = "None"
	// FromSame admits no other namespace and says so on purpose.
	FromSame FromNamespaces = "Same"
	// FromAll admits every namespace.
	FromAll FromNamespaces = "All"
	// FromSelector admits namespaces by their labels.
	FromSelector FromNamespaces = "Selector"
)

// AllowedNamespaces says which namespaces a consent covers.
//
// +kubebuilder:validation:XValidation:rule="has(self.selector) == (has(self.from) && self.from == 'Selector')",message="selector is required when from is Selector and has no meaning otherwise: set both or neither"
type AllowedNamespaces struct {
	// from is None (default), Same, All or Selector. Selector trusts whoever
	// may label Namespaces; kubernetes.io/metadata.name is a label that nobody
	// can forge.
	// +optional
	// +kubebuilder:default=None
	From FromNamespaces `json:"from,omitempty"`
	// selector over the labels of Namespaces.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// TerdutServerStatus is the install as the operator last saw it.
type TerdutServerStatus struct {
	// conditions are Ready, DatabaseReady, Available and Bootstrapped, and
	// RouteReady with a gatewayListener. All others (Degraded, Reconciling,
	// Stalled, Paused, Ceded, Contested, CredentialsExposed, MirrorsIncomplete,
	// NamespaceNotWatched, AdoptionRequested, DuplicateClaim) are present only
	// when true.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the last generation that was applied; -1 until the
	// first one was.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// reconciled is the value of the annotation terdut.ryuvia.com/reconcile for
	// which everything was last looked at anew, cut to 256 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Reconciled string `json:"reconciled,omitempty"`
	// serviceName is the Service that leads to the server.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServiceName string `json:"serviceName,omitempty"`
	// operatorCredentialsSecretRef is the Secret that holds the operator's key
	// for the server.
	// +optional
	OperatorCredentialsSecretRef *LocalRef `json:"operatorCredentialsSecretRef,omitempty"`
	// credentials is what the operator remembers of its keys.
	// +optional
	Credentials *ServerCredentialsStatus `json:"credentials,omitempty"`
	// capabilities are the optional parts of the server's API, as far as they
	// were looked for.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Capabilities []ServerCapability `json:"capabilities,omitempty"`
	// database is what the operator remembers of the database's password.
	// +optional
	Database *ServerDatabaseStatus `json:"database,omitempty"`
	// attachedTeams counts the TerdutTeams that hold a team on this server.
	// +optional
	AttachedTeams int32 `json:"attachedTeams"`
	// children are the objects that the operator made for this server. What is
	// recorded here and no longer wanted is deleted.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Children []ChildRecord `json:"children,omitempty"`
}

// ChildRecord remembers an object that was made for a TerdutServer.
type ChildRecord struct {
	// kind of the object.
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// name of the object.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// uid of the object; empty between the record and the creation.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	UID types.UID `json:"uid,omitempty"`
	// intent is a hash of what was last applied to it. It tells drift from a
	// change of the spec, across restarts.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Intent string `json:"intent,omitempty"`
}

// TerdutServerList is a list of TerdutServers.
//
// +kubebuilder:object:root=true
type TerdutServerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TerdutServer `json:"items"`
}
