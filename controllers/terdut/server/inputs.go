package server

import (
	"net"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// Defaults of the fields that have none in the schema.
const (
	defaultRepository = "git.ryuvia.com/niklas/terdut-server"
	defaultTag        = "v0.9.3"
	defaultPort       = 8080
	defaultReplicas   = 1

	defaultPasswordKey     = "password"
	defaultTokenKey        = "token"
	defaultClientSecretKey = "client-secret"
	defaultAdminKeyKey     = v1alpha1.CredentialsKey
)

// Inputs is everything that the children are rendered from: plain values, and
// none of a Secret.
type Inputs struct {
	Namespace, Name string
	// UID of the TerdutServer that owns the children.
	UID types.UID
	// Spec as the API server has it.
	Spec v1alpha1.TerdutServerSpec
	// Database as the spec names it or as it was resolved.
	Database Database
	// Selector of the Deployment that there is; nil when there is none.
	Selector *metav1.LabelSelector
	// Route is true when an HTTPRoute is wanted, may be made and can be.
	Route bool
}

// Database says where the server keeps its state.
type Database struct {
	// DSN without a password.
	DSN string
	// Password is the key that the pod reads it from; nil when the DSN's user
	// has none.
	Password *SecretKey
	// PasswordHMAC is another one when the password is, and tells nothing else
	// about it.
	PasswordHMAC string
	// CA is the certificate authority that is mounted into the pod, and that
	// the DSN names; nil when there is none.
	CA *SecretKey
}

// SecretKey is one key of a Secret in the server's namespace.
type SecretKey struct {
	Secret, Key string
}

// secretKey reads a reference; nil means that it is not set.
func secretKey(ref *v1alpha1.SecretKeyRef, defaultKey string) *SecretKey {
	if ref == nil || ref.Name == "" {
		return nil
	}
	key := SecretKey{Secret: ref.Name, Key: ref.Key}
	if key.Key == "" {
		key.Key = defaultKey
	}
	return &key
}

// tokenKey is the access token for ntfy.
func tokenKey(spec *v1alpha1.TerdutServerSpec) *SecretKey {
	if spec.Notify == nil {
		return nil
	}
	return secretKey(spec.Notify.TokenSecretRef, defaultTokenKey)
}

// clientSecretKey is the OIDC client's secret; a disabled OIDC needs none.
func clientSecretKey(spec *v1alpha1.TerdutServerSpec) *SecretKey {
	if spec.OIDC == nil || !spec.OIDC.Enabled {
		return nil
	}
	return secretKey(spec.OIDC.ClientSecretRef, defaultClientSecretKey)
}

// adminKey is the key that somebody gave for a server that is bootstrapped, and
// the field that names it; nil means that it is not set.
func adminKey(spec *v1alpha1.TerdutServerSpec) (string, *SecretKey) {
	if spec.External != nil {
		return "spec.external.adminKeySecretRef", secretKey(&spec.External.AdminKeySecretRef, defaultAdminKeyKey)
	}
	const field = "spec.bootstrap.adminKeySecretRef"
	if spec.Bootstrap == nil {
		return field, nil
	}
	return field, secretKey(spec.Bootstrap.AdminKeySecretRef, defaultAdminKeyKey)
}

// serviceName is the Service, and the Deployment, of a server.
func serviceName(server string) string { return server }

func port(spec *v1alpha1.TerdutServerSpec) int32 {
	if spec.Networking.ServicePort == 0 {
		return defaultPort
	}
	return spec.Networking.ServicePort
}

// baseURL is the address that the server puts into its links.
func baseURL(in *Inputs) string {
	if hostname := in.Spec.Networking.Hostname; hostname != "" {
		return (&url.URL{Scheme: "https", Host: hostname}).String()
	}
	host := serviceName(in.Name) + "." + in.Namespace + ".svc"
	return (&url.URL{Scheme: "http", Host: net.JoinHostPort(host, strconv.Itoa(int(port(&in.Spec))))}).String()
}

func image(spec *v1alpha1.TerdutServerSpec) string {
	repository, tag := defaultRepository, defaultTag
	if spec.Image != nil && spec.Image.Repository != "" {
		repository = spec.Image.Repository
	}
	if spec.Image != nil && spec.Image.Tag != "" {
		tag = spec.Image.Tag
	}
	if spec.Image != nil && spec.Image.Digest != "" {
		return repository + "@" + spec.Image.Digest
	}
	return repository + ":" + tag
}

// pullPolicy is empty when Kubernetes decides.
func pullPolicy(spec *v1alpha1.TerdutServerSpec) corev1.PullPolicy {
	if spec.Image == nil {
		return ""
	}
	return corev1.PullPolicy(spec.Image.PullPolicy)
}
