package v1alpha1

// ServerDatabase names an existing PostgreSQL database, in exactly one way.
//
// The rules of the DSN stand here and not on the field: the API server repeats
// the value of a field that a rule of its own refuses, password included.
//
// +kubebuilder:validation:XValidation:rule="(has(self.dsn) && self.dsn != \"\") != has(self.postgresClusterRef)",message="set exactly one of dsn and postgresClusterRef"
// +kubebuilder:validation:XValidation:rule="!has(self.passwordSecretRef) || !has(self.passwordSecretRef.name) || self.passwordSecretRef.name == \"\" || (has(self.dsn) && self.dsn != \"\") || !has(self.postgresClusterRef)",message="passwordSecretRef goes with dsn; with postgresClusterRef the operator finds the password itself: remove it"
// +kubebuilder:validation:XValidation:rule="!has(self.dsn) || self.dsn == \"\" || (isURL(self.dsn) && url(self.dsn).getScheme() in ['postgres', 'postgresql'] && url(self.dsn).getHostname() != \"\")",fieldPath=".dsn",message="dsn must be a URL such as postgres://user@host:5432/database?sslmode=require"
// +kubebuilder:validation:XValidation:rule="!has(self.dsn) || !self.dsn.matches('^[^/]*//([^/?#]*:[^/?#]*@|[^/?#]*[/?#].*@)')",fieldPath=".dsn",message="dsn stands in plain text and may not carry a password: put it into a Secret and name that in passwordSecretRef (an @ behind the host is written %40)"
// +kubebuilder:validation:XValidation:rule="!has(self.dsn) || (self.dsn.matches('^[^?]*([?]([A-Za-z0-9_.]+=([^&;#%]|%[0-9A-Fa-f]{2})*(&[A-Za-z0-9_.]+=([^&;#%]|%[0-9A-Fa-f]{2})*)*)?)?$') && !self.dsn.matches('(?i)[?&](password|passfile|sslpassword|host|hostaddr|service|servicefile)='))",fieldPath=".dsn",message="dsn may have only name=value pairs, joined by &, in its query, and none of password, passfile, sslpassword, host, hostaddr, service and servicefile: name the host in the URL and the password in passwordSecretRef"
type ServerDatabase struct {
	// dsn of a database that you bring, such as
	// postgres://terdut@db:5432/terdut?sslmode=require. It stands in plain
	// text, so it may not carry a password: that goes into passwordSecretRef.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	DSN string `json:"dsn,omitempty"`
	// passwordSecretRef is the password of the DSN's user, in the server's
	// namespace. Its key is "password" when empty.
	// +optional
	PasswordSecretRef *SecretKeyRef `json:"passwordSecretRef,omitempty"`
	// postgresClusterRef names a postgresql.acid.zalan.do object in the
	// server's namespace that has one database and one owner of it. Host,
	// user, database and password are read from it.
	// +optional
	PostgresClusterRef *LocalRef `json:"postgresClusterRef,omitempty"`
}
