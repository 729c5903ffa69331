package v1alpha1

// Condition types. Each is positive: True is good, save the last three, which
// are present only while they are True.
const (
	// ConditionReady is computed from the other conditions of the kind, in the
	// order in which its documentation names them: it takes status, reason and
	// message of the first that is not True.
	ConditionReady = "Ready"

	// ConditionAvailable (TerdutServer): the Deployment runs as rendered.
	//
	//	True:    Available
	//	False:   RolloutInProgress, NameConflict, PodNotReady, ApplyFailed
	ConditionAvailable = "Available"
	// ConditionDatabaseReady (TerdutServer): the database is named completely.
	//
	//	True:    Connected (pods that use it are ready), NotVerified
	//	False:   SecretNotFound, SecretKeyMissing, CRDNotInstalled, ClusterNotFound,
	//	         ClusterNotReady, DatabaseAmbiguous, DatabaseNotDeclared,
	//	         DatabaseUserUnknown, NameConflict
	ConditionDatabaseReady = "DatabaseReady"
	// ConditionBootstrapped (TerdutServer): the operator has an accepted key.
	//
	//	True:    Bootstrapped, AdminKeyProvided
	//	False:   WaitingForServer, ServerUnreachable, UnexpectedAnswer,
	//	         AlreadyBootstrapped, BootstrapKeyLost, SecretNotFound,
	//	         SecretKeyMissing, KeyNotUsable, KeyNotAccepted, NameConflict
	ConditionBootstrapped = "Bootstrapped"

	// ConditionReferencesResolved (what lives on a server): everything that
	// the object refers to is there and permitted.
	//
	//	True:    Resolved
	//	False:   RefNotPermitted, WaitingForServer, WaitingForTeam, UserNotFound,
	//	         NameConflict (of the Secret to write)
	ConditionReferencesResolved = "ReferencesResolved"
	// ConditionSynced (what lives on a server): the object on the server is as
	// the spec asks.
	//
	//	True:    InSync
	//	False:   NameConflict, KeyUnknown, WaitingForRule, RequestRefused, Invalid
	//	Unknown: ServerUnreachable, CredentialRejected, RouteMissing,
	//	         UnexpectedAnswer, RateLimited, Blocked (a reference is missing)
	ConditionSynced = "Synced"

	// ConditionDegraded: a deletion cannot finish.
	//
	//	True:    DeletionBlocked, TeamsAttached, and the reasons of Synced
	ConditionDegraded = "Degraded"
	// ConditionReconciling: the operator is at work on a generation.
	//
	//	True:    Progressing
	ConditionReconciling = "Reconciling"
	// ConditionStalled: a person has to do something.
	//
	//	True:    RefNotPermitted, NameConflict, AlreadyBootstrapped,
	//	         BootstrapKeyLost, KeyNotUsable, Invalid, ...
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

	ReasonConnected         = "Connected"
	ReasonNotVerified       = "NotVerified"
	ReasonSecretNotFound    = "SecretNotFound"
	ReasonSecretKeyMissing  = "SecretKeyMissing"
	ReasonCRDNotInstalled   = "CRDNotInstalled"
	ReasonClusterNotFound   = "ClusterNotFound"
	ReasonClusterNotReady   = "ClusterNotReady"
	ReasonDatabaseAmbiguous = "DatabaseAmbiguous"

	ReasonDatabaseNotDeclared = "DatabaseNotDeclared"
	ReasonDatabaseUserUnknown = "DatabaseUserUnknown"

	ReasonBootstrapped        = "Bootstrapped"
	ReasonAdminKeyProvided    = "AdminKeyProvided"
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

	ReasonInSync             = "InSync"
	ReasonBlocked            = "Blocked"
	ReasonNameConflict       = "NameConflict"
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

	ReasonDeletionBlocked = "DeletionBlocked"
	ReasonTeamsAttached   = "TeamsAttached"
)

// Reasons of Events that report something the operator did.
const (
	EventCreated        = "Created"
	EventUpdated        = "Updated"
	EventRenamed        = "Renamed"
	EventDeleted        = "Deleted"
	EventAdopted        = "Adopted"
	EventRecreated      = "Recreated"
	EventRotated        = "Rotated"
	EventDriftCorrected = "DriftCorrected"
	EventPruned         = "Pruned"
	EventReleased       = "Released"
	EventBootstrapped   = "Bootstrapped"

	EventDatabasePasswordChanged = "DatabasePasswordChanged"
)
