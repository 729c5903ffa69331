package v1alpha1

// ServerSweeper ages alerts out.
type ServerSweeper struct {
	// staleAfter is how long an alert may stay silent before it counts as
	// resolved. The server's default when not set.
	// +optional
	StaleAfter Duration `json:"staleAfter,omitempty"`
	// archiveAfter is how long a resolved alert is kept in view. The server's
	// default when not set.
	// +optional
	ArchiveAfter Duration `json:"archiveAfter,omitempty"`
}

// ServerDeadman is the server's own dead man's switch.
type ServerDeadman struct {
	// matchers of the alert that feeds it, such as alertname=Watchdog.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Matchers string `json:"matchers,omitempty"`
	// timeout after which a switch that was not fed fires.
	// +optional
	Timeout Duration `json:"timeout,omitempty"`
	// severity of the incident that it opens.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9_-]*$`
	Severity string `json:"severity,omitempty"`
}

// ServerNotify says where pages are sent.
//
// +kubebuilder:validation:XValidation:rule="!has(self.ntfyURL) || !self.ntfyURL.matches('^[^/]*//[^/?#]*@')",fieldPath=".ntfyURL",message="ntfyURL stands in plain text and may not carry a user or password: put an access token into a Secret and name that in tokenSecretRef"
type ServerNotify struct {
	// ntfyURL is the base URL of the ntfy server.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self == \"\" || (isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != \"\")",message="ntfyURL must be an http or https URL, such as https://ntfy.example.com"
	NtfyURL string `json:"ntfyURL,omitempty"`
	// fallbackTopic is paged when nobody else can be.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[-_A-Za-z0-9]*$`
	FallbackTopic string `json:"fallbackTopic,omitempty"`
	// repeatEvery is the time between two pages for one open incident.
	// +optional
	RepeatEvery Duration `json:"repeatEvery,omitempty"`
	// tokenSecretRef is the access token for the ntfy server. Its key is
	// "token" when empty.
	// +optional
	TokenSecretRef *SecretKeyRef `json:"tokenSecretRef,omitempty"`
}

// ServerOIDC is single sign-on.
//
// +kubebuilder:validation:XValidation:rule="!self.enabled || (has(self.issuer) && self.issuer != \"\" && has(self.clientID) && self.clientID != \"\" && has(self.clientSecretRef) && has(self.clientSecretRef.name) && self.clientSecretRef.name != \"\")",message="oidc.enabled needs issuer, clientID and clientSecretRef: set all three, or enabled: false"
type ServerOIDC struct {
	// enabled turns single sign-on on. Default false.
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`
	// issuer is the URL of the identity provider.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self == \"\" || (isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != \"\")",message="issuer must be an http or https URL, such as https://sso.example.com"
	Issuer string `json:"issuer,omitempty"`
	// clientID of the server at the identity provider.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	ClientID string `json:"clientID,omitempty"`
	// clientSecretRef is the client's secret. Its key is "client-secret" when
	// empty.
	// +optional
	ClientSecretRef *SecretKeyRef `json:"clientSecretRef,omitempty"`
	// name on the sign-in button. Default SSO.
	// +optional
	// +kubebuilder:default=SSO
	// +kubebuilder:validation:MaxLength=100
	Name string `json:"name,omitempty"`
	// scopes that are asked for, separated by spaces. Default "openid profile
	// email".
	// +optional
	// +kubebuilder:default="openid profile email"
	// +kubebuilder:validation:MaxLength=255
	Scopes string `json:"scopes,omitempty"`
	// allowedGroups may sign in; nobody else may, unless the list is empty.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=200
	// +kubebuilder:validation:items:Pattern=`^[^,]+$`
	AllowedGroups []string `json:"allowedGroups,omitempty"`
	// adminGroup makes its members administrators of the server.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	AdminGroup string `json:"adminGroup,omitempty"`
	// sessionMaxAge is how long a session lives. Default 12h.
	// +optional
	// +kubebuilder:default="12h"
	SessionMaxAge Duration `json:"sessionMaxAge,omitempty"`
}
