package v1alpha1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
	// AnnotationForceOrphan with the value "true" lets a resource go at its
	// deletion without any call to its server, and leaves what is there. On a
	// TerdutServer it counts for every resource recorded on it that is being
	// deleted, and lets the TerdutServer go although teams live on it.
	AnnotationForceOrphan = "terdut.ryuvia.com/force-orphan"
	// AnnotationPaused with the value "true" keeps the operator from changing
	// anything for a resource, here and on the server, until it is taken away or
	// the resource is deleted.
	AnnotationPaused = "terdut.ryuvia.com/paused"
	// AnnotationReconcile asks for a pass at once that believes no snapshot, once
	// for each value; the last one is acknowledged in status.reconciled.
	AnnotationReconcile = "terdut.ryuvia.com/reconcile"

	// AnnotationIntegrationID stands on a webhook Secret and says whose key it
	// holds: the server-side ID of the integration.
	AnnotationIntegrationID = "terdut.ryuvia.com/integration-id"
	// AnnotationIntegrationCreatedAt stands beside it: when that integration was
	// made, as the server says. A server that came back from a backup gives IDs
	// out again.
	AnnotationIntegrationCreatedAt = "terdut.ryuvia.com/integration-created-at"
	// AnnotationURLBase and AnnotationInternalURLBase stand on a webhook Secret
	// and hold the addresses of the TerdutServer for which url and internalURL
	// were written. What begins with such an address follows it when it changes.
	AnnotationURLBase         = "terdut.ryuvia.com/url-base"
	AnnotationInternalURLBase = "terdut.ryuvia.com/internal-url-base"

	// AnnotationDatabasePassword stands on the pods of a server with
	// spec.database.restartOnRotation. It changes when the password does.
	AnnotationDatabasePassword = "terdut.ryuvia.com/database-password-hmac"

	// AnnotationRotate asks for a new key, once for each value: on a
	// TerdutServer for one of the operator's, acknowledged in
	// status.credentials.rotated, on a TerdutAlertSource for a new integration,
	// acknowledged in status.rotated.
	AnnotationRotate = "terdut.ryuvia.com/rotate"
	// AnnotationKeyID and AnnotationUserID stand on a Secret with an API key
	// and hold the server-side IDs of the key and of its user, as far as they
	// are known. AnnotationServiceAccount is "true" when that user is a service
	// account.
	AnnotationKeyID          = "terdut.ryuvia.com/key-id"
	AnnotationUserID         = "terdut.ryuvia.com/user-id"
	AnnotationServiceAccount = "terdut.ryuvia.com/service-account"
	// AnnotationKeyName is the name that a key was minted under.
	AnnotationKeyName = "terdut.ryuvia.com/key-name"
	// AnnotationKeySource says where a key comes from: Bootstrap, Minted or
	// Provided. A provided one is never revoked.
	AnnotationKeySource = "terdut.ryuvia.com/key-source"
	// AnnotationKeyOrigin says where the first of a row of exchanged keys came
	// from: Bootstrap or Provided.
	AnnotationKeyOrigin = "terdut.ryuvia.com/key-origin"
	// AnnotationKeyIssued is when a key was obtained (RFC 3339).
	AnnotationKeyIssued = "terdut.ryuvia.com/key-issued-at"

	// LabelCredentials stands on a Secret for the tools of tenants, with the
	// value CredentialsOfTeam or CredentialsMirror.
	LabelCredentials = "terdut.ryuvia.com/credentials"
	// CredentialsOfTeam is a key that reaches one team.
	CredentialsOfTeam = "team"
	// CredentialsMirror is a copy of the operator's key.
	CredentialsMirror = "mirror"
	// AnnotationMirrorOf stands on a copy of the operator's key and names its
	// TerdutServer, as <namespace>/<name>. An owner reference cannot leave its
	// namespace.
	AnnotationMirrorOf = "terdut.ryuvia.com/mirror-of"

	// CredentialsKey, CredentialsURLKey and CredentialsInternalURLKey are the
	// keys of a credentials Secret: the server's API key and, in those for
	// tenants, where people and where pods reach the server. They are part of
	// the API: exact bytes, no newline.
	CredentialsKey            = "key"
	CredentialsURLKey         = "url"
	CredentialsInternalURLKey = "internalURL"

	// WebhookURLKey, WebhookKeyKey and WebhookInternalURLKey are the keys of a
	// webhook Secret. They are part of the API: exact bytes, no newline.
	WebhookURLKey         = "url"
	WebhookKeyKey         = "key"
	WebhookInternalURLKey = "internalURL"
)

// IsOn tells whether an annotation that is a switch is on: its value is "true".
func IsOn(o metav1.Object, annotation string) bool { return o.GetAnnotations()[annotation] == "true" }

// CredentialsSecretName is the Secret that holds the operator's own key for
// the TerdutServer of that name.
func CredentialsSecretName(server string) string { return server + "-operator-credentials" }

// NextCredentialsSecretName is the Secret that holds the key which is about to
// take the place of the one in CredentialsSecretName. Where both exist it is the
// one that counts, if the server accepts its key.
func NextCredentialsSecretName(server string) string { return CredentialsSecretName(server) + "-next" }

// TeamCredentialsSecretName is the Secret that holds the key of the TerdutTeam
// of that name. Its ending is another than that of MirrorSecretName: names of
// teams may hold dots.
func TeamCredentialsSecretName(team string) string { return team + "-terdut-key" }

// MirrorSecretName is the Secret that holds a copy of the operator's key for a
// TerdutServer, in the namespaces of its teams.
func MirrorSecretName(server, namespace string) string {
	return server + "." + namespace + "-terdut-credentials"
}

// WebhookSecretName is the Secret that holds url and key of the
// TerdutAlertSource of that name, unless its spec names another.
func WebhookSecretName(source string) string { return source + "-terdut-webhook" }

// DatabaseHMACSecretName is the Secret that holds the key of the HMACs by which
// the operator tells that the password of the database of the TerdutServer of
// that name has changed.
func DatabaseHMACSecretName(server string) string { return server + "-database-hmac" }

// longestToken bounds what is kept of a value of AnnotationRotate, in bytes.
const longestToken = 256

// RotateToken is the value of AnnotationRotate on an object, as a status
// acknowledges it; empty when there is none.
func RotateToken(o metav1.Object) string {
	token := o.GetAnnotations()[AnnotationRotate]
	if len(token) > longestToken {
		token = token[:longestToken]
	}
	return strings.ToValidUTF8(token, "")
}
