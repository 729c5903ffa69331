package v1alpha1

// Condition types. Each is positive: True is good, save the last eleven, which
// are present only while they are True.
//
// The lists name every reason that a condition may have. "Those of a call" are
// what a call to the server may end with:
//
//	False:   RequestRefused, NameConflict, Invalid, AddressRefused,
//	         RedirectRefused, CertificateRejected
//	Unknown: ServerUnreachable, CredentialRejected, RouteMissing,
//	         UnexpectedAnswer, RateLimited
const (
	// ConditionReady is computed from the other conditions of the kind, in the
	// order in which its documentation names them: it takes status, reason and
	// message of the first that is not True.
	ConditionReady = "Ready"

	// ConditionAvailable (TerdutServer): the Deployment runs as rendered; an
	// external server answers.
	//
	//	True:    Available
	//	False:   RolloutInProgress, PodNotReady, ImagePullFailed,
	//	         PodConfigInvalid, CrashLooping, Unschedulable, QuotaExceeded,
	//	         PodsRefused, NameConflict, ApplyFailed, SecretNotFound and
	//	         SecretKeyMissing (of notify, oidc or external.caSecretRef), those
	//	         of a call
	//	Unknown: Progressing (an external server was not asked yet), those of a
	//	         call (a server that had accepted the operator's key)
	ConditionAvailable = "Available"
	// ConditionDatabaseReady (TerdutServer): the database is named completely.
	//
	//	True:    Connected (pods that use it are ready), NotVerified, External
	//	         (the server's own business; True, so that whoever waits for it
	//	         need not tell the two sorts of servers apart)
	//	False:   SecretNotFound, SecretKeyMissing, CRDNotInstalled, ClusterNotFound,
	//	         ClusterNotReady, DatabaseAmbiguous, DatabaseNotDeclared,
	//	         DatabaseUserUnknown, Invalid, NameConflict and ApplyFailed (of the
	//	         Secret with the key of the HMACs)
	//	Unknown: Progressing
	ConditionDatabaseReady = "DatabaseReady"
	// ConditionBootstrapped (TerdutServer): the operator has an accepted key.
	//
	//	True:    Bootstrapped, AdminKeyProvided, SharedIdentity
	//	False:   WaitingForServer, AlreadyBootstrapped, BootstrapKeyLost,
	//	         SecretNotFound, SecretKeyMissing, KeyNotUsable, KeyNotAccepted,
	//	         NameConflict, ApplyFailed, Progressing (the namespace is being
	//	         deleted), those of a call
	//	Unknown: those of a call
	ConditionBootstrapped = "Bootstrapped"
	// ConditionRouteReady (TerdutServer, while networking.gatewayListener is
	// set): the Gateway routes hostname to the server.
	//
	//	True:    RouteAccepted
	//	False:   WaitingForServer (it has no administrator yet), CRDNotInstalled,
	//	         RouteNotAccepted, Progressing
	ConditionRouteReady = "RouteReady"

	// ConditionReferencesResolved (what lives on a server): everything that
	// the object refers to is there and permitted.
	//
	//	True:    Resolved
	//	False:   RefNotPermitted, WaitingForServer, WaitingForTeam, UserNotFound,
	//	         SecretNotFound and SecretKeyMissing (of external.caSecretRef and
	//	         existingKeySecretRef), KeyNotUsable, NameConflict and Progressing
	//	         (of the Secret to write)
	ConditionReferencesResolved = "ReferencesResolved"
	// ConditionSynced (what lives on a server): the object on the server is as
	// the spec asks.
	//
	//	True:    InSync
	//	False:   DuplicateClaim, KeyUnknown, WaitingForRule, those of a call
	//	Unknown: Blocked (a reference is missing), NamespaceNotWatched (of a
	//	         server that is left to be cleaned up), those of a call
	ConditionSynced = "Synced"

	// ConditionCredentialsReady (TerdutTeam, while the mode of its server is
	// Scoped): the team's own key is in its Secret. Without service accounts on
	// the server it counts for Ready only where the mode is asked for by name.
	//
	//	True:    KeyIssued
	//	False:   ScopedUnavailable, NameConflict and Progressing (of the Secret),
	//	         those of a call
	//	Unknown: those of a call
	ConditionCredentialsReady = "CredentialsReady"
	// ConditionCredentialsExposed (TerdutServer): namespaces that lost their
	// copy of the operator's key may still know it. It is present only while it
	// is True and keeps nothing from being ready.
	//
	//	True:    MirrorRemoved
	ConditionCredentialsExposed = "CredentialsExposed"
	// ConditionMirrorsIncomplete (TerdutServer): a namespace did not get its
	// copy of the operator's key. It is present only while it is True and keeps
	// nothing from being ready: a tenant must not be able to.
	//
	//	True:    MirrorRefused, ApplyFailed
	ConditionMirrorsIncomplete = "MirrorsIncomplete"

	// ConditionNamespaceNotWatched (TerdutServer, where the operator watches
	// some namespaces only): spec.allowedTeams reaches namespaces that it does
	// not watch, or copies of its key are recorded in such. It is present only
	// while it is True and keeps nothing from being ready.
	//
	//	True:    NamespaceNotWatched
	ConditionNamespaceNotWatched = "NamespaceNotWatched"

	// ConditionAdoptionRequested (TerdutServer): TerdutTeams of other namespaces
	// want teams that are on the server already and that nobody holds. The
	// message has the entry of spec.allowedTeams.adopt that gives leave. It is
	// present only while it is True and keeps nothing from being ready.
	//
	//	True:    AdoptionRequested
	ConditionAdoptionRequested = "AdoptionRequested"
	// ConditionDuplicateClaim (TerdutServer): two resources have recorded one
	// object on the server, which stops both. The message names them. It is
	// present only while it is True and keeps nothing from being ready.
	//
	//	True:    DuplicateClaim
	ConditionDuplicateClaim = "DuplicateClaim"

	// ConditionCeded (TerdutServer): fields of children are left to other field
	// managers. It keeps nothing from being ready.
	//
	//	True:    FieldsCeded
	ConditionCeded = "Ceded"
	// ConditionContested (TerdutServer): somebody keeps changing fields that
	// are the operator's. It keeps nothing from being ready.
	//
	//	True:    FieldsContested
	ConditionContested = "Contested"
	// ConditionDegraded: a deletion cannot finish.
	//
	//	True:    TeamsAttached and DeletionBlocked (TerdutServer); those of
	//	         ReferencesResolved and Synced, and after half an hour
	//	         DeletionStuck (what lives on a server)
	ConditionDegraded = "Degraded"
	// ConditionPaused: an annotation keeps the operator from changing anything.
	// All other conditions are as they were, but that Ready of a generation which
	// was not applied is Unknown, for this reason.
	//
	//	True:    Paused
	ConditionPaused = "Paused"
	// ConditionReconciling: the operator is at work on a generation.
	//
	//	True:    Progressing
	ConditionReconciling = "Reconciling"
	// ConditionStalled: a person has to do something.
	//
	//	True:    RefNotPermitted, NameConflict, DuplicateClaim, KeyUnknown, Invalid,
	//	         AlreadyBootstrapped, BootstrapKeyLost, KeyNotUsable,
	//	         KeyNotAccepted, ScopedUnavailable, AddressRefused,
	//	         RedirectRefused, CertificateRejected, ApplyFailed (a field that
	//	         never changes)
	ConditionStalled = "Stalled"
)

// Reasons are states of the world; every condition and Event uses these.
const (
	ReasonReady       = "Ready"
	ReasonProgressing = "Progressing"

	ReasonAvailable         = "Available"
	ReasonRolloutInProgress = "RolloutInProgress"
	ReasonPodNotReady       = "PodNotReady"
	ReasonApplyFailed       = "ApplyFailed"

	ReasonImagePullFailed  = "ImagePullFailed"
	ReasonPodConfigInvalid = "PodConfigInvalid"
	ReasonCrashLooping     = "CrashLooping"
	ReasonUnschedulable    = "Unschedulable"
	ReasonQuotaExceeded    = "QuotaExceeded"
	ReasonPodsRefused      = "PodsRefused"

	ReasonRouteAccepted    = "RouteAccepted"
	ReasonRouteNotAccepted = "RouteNotAccepted"
	ReasonFieldsCeded      = "FieldsCeded"
	ReasonFieldsContested  = "FieldsContested"

	ReasonConnected         = "Connected"
	ReasonNotVerified       = "NotVerified"
	ReasonExternal          = "External"
	ReasonSecretNotFound    = "SecretNotFound"
	ReasonSecretKeyMissing  = "SecretKeyMissing"
	ReasonCRDNotInstalled   = "CRDNotInstalled"
	ReasonClusterNotFound   = "ClusterNotFound"
	ReasonClusterNotReady   = "ClusterNotReady"
	ReasonDatabaseAmbiguous = "DatabaseAmbiguous"

	ReasonDatabaseNotDeclared = "DatabaseNotDeclared"
	ReasonDatabaseUserUnknown = "DatabaseUserUnknown"

	ReasonBootstrapped     = "Bootstrapped"
	ReasonAdminKeyProvided = "AdminKeyProvided"
	// ReasonSharedIdentity: the operator uses the very key that somebody gave,
	// since it cannot make one of its own.
	ReasonSharedIdentity      = "SharedIdentity"
	ReasonAlreadyBootstrapped = "AlreadyBootstrapped"
	ReasonBootstrapKeyLost    = "BootstrapKeyLost"
	ReasonKeyNotUsable        = "KeyNotUsable"
	ReasonKeyNotAccepted      = "KeyNotAccepted"

	ReasonResolved         = "Resolved"
	ReasonRefNotPermitted  = "RefNotPermitted"
	ReasonWaitingForServer = "WaitingForServer"
	ReasonWaitingForTeam   = "WaitingForTeam"
	ReasonWaitingForRule   = "WaitingForRule"
	ReasonUserNotFound     = "UserNotFound"

	ReasonInSync       = "InSync"
	ReasonBlocked      = "Blocked"
	ReasonNameConflict = "NameConflict"
	// ReasonDuplicateClaim: two resources have recorded the same object.
	ReasonDuplicateClaim     = "DuplicateClaim"
	ReasonKeyUnknown         = "KeyUnknown"
	ReasonInvalid            = "Invalid"
	ReasonRequestRefused     = "RequestRefused"
	ReasonServerUnreachable  = "ServerUnreachable"
	ReasonCredentialRejected = "CredentialRejected"
	ReasonRouteMissing       = "RouteMissing"
	ReasonUnexpectedAnswer   = "UnexpectedAnswer"
	// ReasonAddressRefused: the server's name leads where no server of a
	// tenant can be, such as loopback or a metadata service.
	ReasonAddressRefused = "AddressRefused"
	// ReasonRedirectRefused: the server redirects to another scheme, host or
	// port.
	ReasonRedirectRefused = "RedirectRefused"
	// ReasonCertificateRejected: the server's certificate is not trusted.
	ReasonCertificateRejected = "CertificateRejected"
	ReasonRateLimited         = "RateLimited"

	// ReasonKeyIssued: the team's key is in its Secret.
	ReasonKeyIssued = "KeyIssued"
	// ReasonScopedUnavailable: the server cannot hand out keys that reach one
	// team only.
	ReasonScopedUnavailable = "ScopedUnavailable"
	// ReasonMirrorRemoved: a copy of the operator's key was taken away.
	ReasonMirrorRemoved = "MirrorRemoved"
	// ReasonMirrorRefused: a Secret of somebody else is where a copy of the
	// operator's key should be.
	ReasonMirrorRefused = "MirrorRefused"

	// ReasonNamespaceNotWatched: it concerns a namespace at which the operator
	// was told not to look.
	ReasonNamespaceNotWatched = "NamespaceNotWatched"
	// ReasonAdoptionRequested: a team that nobody holds is wanted.
	ReasonAdoptionRequested = "AdoptionRequested"

	ReasonPaused = "Paused"

	// ReasonDeletionStuck: a deletion has not finished for half an hour.
	ReasonDeletionStuck = "DeletionStuck"
	// ReasonServerGone, ReasonServerTerminating, ReasonForceOrphan, ReasonTeamGone
	// and ReasonPolicyLeft are why a resource was let go although something of it
	// may be left on the server.
	ReasonServerGone        = "ServerGone"
	ReasonServerTerminating = "ServerTerminating"
	ReasonForceOrphan       = "ForceOrphan"
	ReasonTeamGone          = "TeamGone"
	// ReasonPolicyLeft: the server does not take an empty policy.
	ReasonPolicyLeft = "PolicyLeft"

	ReasonDeletionBlocked = "DeletionBlocked"
	ReasonTeamsAttached   = "TeamsAttached"
)

// Reasons of Events that report something the operator did.
const (
	EventCreated        = "Created"
	EventUpdated        = "Updated"
	EventDeleted        = "Deleted"
	EventAdopted        = "Adopted"
	EventOverwritten    = "Overwritten"
	EventRecreated      = "Recreated"
	EventRotated        = "Rotated"
	EventDriftCorrected = "DriftCorrected"
	EventPruned         = "Pruned"
	EventReleased       = "Released"
	EventOrphaned       = "Orphaned"
	EventBootstrapped   = "Bootstrapped"
	EventRevoked        = "Revoked"
	EventKeyUnaccounted = "KeyUnaccounted"
	EventRotationFailed = "RotationFailed"
	EventTakenOver      = "TakenOver"

	EventMirrored   = "CredentialsMirrored"
	EventKeyRevoked = "KeyRevoked"

	EventDatabasePasswordChanged = "DatabasePasswordChanged"
)
