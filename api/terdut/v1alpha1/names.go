package v1alpha1

const (
	// Finalizer holds a custom resource until what it made on the server is
	// gone, or a custom resource others depend on until they are gone.
	Finalizer = "terdut.ryuvia.com/cleanup"

	// LabelManagedBy with the value ManagedBy stands on every object that the
	// operator makes. It narrows the operator's watches and proves nothing:
	// ownership is read from owner references and records in status.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// LabelName with the value AppName stands on the pods of every server.
	LabelName = "app.kubernetes.io/name"
	// LabelInstance is the name of the TerdutServer.
	LabelInstance = "app.kubernetes.io/instance"

	// ManagedBy is the value of LabelManagedBy.
	ManagedBy = "terdut-operator"
	// AppName is the value of LabelName.
	AppName = "terdut-server"

	// AnnotationBootstrapAttempt stands on a credentials Secret from before
	// the one call that may fill it. An empty Secret that bears it means that
	// the answer of that call was lost, or that somebody else was first.
	AnnotationBootstrapAttempt = "terdut.ryuvia.com/bootstrap-attempt"
	// AnnotationIntegrationID stands on a webhook Secret and says whose key it
	// holds: the server-side ID of the integration.
	AnnotationIntegrationID = "terdut.ryuvia.com/integration-id"

	// AnnotationDatabasePassword stands on the pods of a server with
	// spec.database.restartOnRotation. It changes when the password does.
	AnnotationDatabasePassword = "terdut.ryuvia.com/database-password-hmac"

	// CredentialsKey is the key of the server's API key in a credentials Secret.
	CredentialsKey = "key"

	// WebhookURLKey, WebhookKeyKey and WebhookInternalURLKey are the keys of a
	// webhook Secret. They are part of the API: exact bytes, no newline.
	WebhookURLKey         = "url"
	WebhookKeyKey         = "key"
	WebhookInternalURLKey = "internalURL"
)

// CredentialsSecretName is the Secret that holds the operator's own key for
// the TerdutServer of that name.
func CredentialsSecretName(server string) string { return server + "-operator-credentials" }

// WebhookSecretName is the Secret that holds url and key of the
// TerdutAlertSource of that name.
func WebhookSecretName(source string) string { return source + "-terdut-webhook" }

// DatabaseHMACSecretName is the Secret that holds the key of the HMACs by which
// the operator tells that the password of the database of the TerdutServer of
// that name has changed.
func DatabaseHMACSecretName(server string) string { return server + "-database-hmac" }
