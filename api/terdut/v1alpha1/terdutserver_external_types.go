package v1alpha1

// ServerExternal is a terdut-server that the operator does not deploy. It makes
// no Deployment and no Service for it, and never bootstraps it: whoever could
// name a stranger's fresh server would own it.
//
// +kubebuilder:validation:XValidation:rule="self.url.matches('^https://[^/?#@]+(/[^?#@]*)?$') || self.url.matches('^http://[a-z0-9]([-a-z0-9]*[a-z0-9])?[.][a-z0-9]([-a-z0-9]*[a-z0-9])?[.]svc([.][-a-z0-9.]+)?(:[0-9]+)?(/[^?#@]*)?$')",fieldPath=".url",message="external.url must be https://host[:port][/prefix], or http:// to a Service such as http://terdut.oncall.svc:8080, without user, query and fragment"
type ServerExternal struct {
	// url of the server: https, or http to a Service of this cluster by its
	// name <service>.<namespace>.svc.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	URL string `json:"url"`
	// caSecretRef is the certificate authority that the server's certificate is
	// checked against, in the TerdutServer's namespace; the system's when not
	// set. Its key is "ca.crt" when empty.
	// +optional
	CASecretRef *SecretKeyRef `json:"caSecretRef,omitempty"`
	// adminKeySecretRef is an API key of an administrator, in the
	// TerdutServer's namespace. Its key is "key" when empty.
	AdminKeySecretRef SecretKeyRef `json:"adminKeySecretRef"`
}
