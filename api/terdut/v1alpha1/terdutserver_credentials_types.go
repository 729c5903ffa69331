package v1alpha1

// ServerBootstrap gives the operator an identity on a server that somebody
// else has bootstrapped.
type ServerBootstrap struct {
	// adminKeySecretRef is an API key of an administrator, in the server's
	// namespace. It is read only when the server refuses to be bootstrapped.
	// Its key is "key" when empty.
	// +optional
	AdminKeySecretRef *SecretKeyRef `json:"adminKeySecretRef,omitempty"`
}
