package v1alpha1

// ServerDatabase names an existing PostgreSQL database, in exactly one way.
//
// The rules of the DSN stand here and not on the field: the API server repeats
// the value of a field that a rule of its own refuses, password included.
//
// +kubebuilder:validation:XValidation:rule="[has(self.dsn) && self.dsn != \"\", has(self.postgresClusterRef), has(self.cnpgClusterRef)].exists_one(x, x)",message="set exactly one of dsn, postgresClusterRef and cnpgClusterRef"
// +kubebuilder:validation:XValidation:rule="!has(self.passwordSecretRef) || !has(self.passwordSecretRef.name) || self.passwordSecretRef.name == \"\" || (has(self.dsn) && self.dsn != \"\") || !(has(self.postgresClusterRef) || has(self.cnpgClusterRef))",message="passwordSecretRef goes with dsn; with postgresClusterRef or cnpgClusterRef the operator finds the password itself: remove it"
// +kubebuilder:validation:XValidation:rule="!has(self.dsn) || self.dsn == \"\" || (isURL(self.dsn) && url(self.dsn).getScheme() in ['postgres', 'postgresql'] && url(self.dsn).getHostname() != \"\")",fieldPath=".dsn",message="dsn must be a URL such as postgres://user@host:5432/database?sslmode=require"
// +kubebuilder:validation:XValidation:rule="!has(self.dsn) || !self.dsn.matches('^[^/]*//([^/?#]*:[^/?#]*@|[^/?#]*[/?#].*@)')",fieldPath=".dsn",message="dsn stands in plain text and may not carry a password: put it into a Secret and name that in passwordSecretRef (an @ behind the host is written %40)"
// +kubebuilder:validation:XValidation:rule="!has(self.dsn) || (self.dsn.matches('^[^?]*([?]([A-Za-z0-9_.]+=([^&;#%]|%[0-9A-Fa-f]{2})*(&[A-Za-z0-9_.]+=([^&;#%]|%[0-9A-Fa-f]{2})*)*)?)?$') && !self.dsn.matches('(?i)[?&](password|passfile|sslpassword|host|hostaddr|service|servicefile)='))",fieldPath=".dsn",message="dsn may have only name=value pairs, joined by &, in its query, and none of password, passfile, sslpassword, host, hostaddr, service and servicefile: name the host in the URL and the password in passwordSecretRef"
// +kubebuilder:validation:XValidation:rule="!has(self.sslMode) || has(self.postgresClusterRef) || has(self.cnpgClusterRef) || !has(self.dsn) || self.dsn == \"\"",message="sslMode goes with postgresClusterRef and cnpgClusterRef: write sslmode into the query of dsn, and remove it here"
// +kubebuilder:validation:XValidation:rule="!(has(self.caSecretRef) && has(self.caSecretRef.name) && self.caSecretRef.name != \"\") || !has(self.dsn) || !self.dsn.matches('(?i)[?&]sslrootcert=')",message="dsn names sslrootcert already: remove it there, so that caSecretRef is mounted and named in its place, or remove caSecretRef"
// +kubebuilder:validation:XValidation:rule="!(has(self.caSecretRef) && has(self.caSecretRef.name) && self.caSecretRef.name != \"\") || (has(self.dsn) && self.dsn != \"\" ? self.dsn.matches('[?&]sslmode=(require|verify-ca|verify-full)(&|#|$)') : !has(self.sslMode) || self.sslMode in ['require', 'verify-ca', 'verify-full'])",message="caSecretRef is looked at only where the server's certificate is checked: use the sslmode verify-full, verify-ca or require, in the query of dsn or in sslMode, or remove caSecretRef"
// +kubebuilder:validation:XValidation:rule="!has(self.postgresClusterRef) || !has(self.sslMode) || !(self.sslMode in ['verify-ca', 'verify-full']) || (has(self.caSecretRef) && has(self.caSecretRef.name) && self.caSecretRef.name != \"\")",message="sslMode verify-ca and verify-full check the database's certificate: with postgresClusterRef name the Secret with its certificate authority in caSecretRef"
type ServerDatabase struct {
	// dsn of a database that you bring, such as
	// postgres://terdut@db:5432/terdut?sslmode=require. It stands in plain
	// text, so it may not carry a password: that goes into passwordSecretRef.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	DSN string `json:"dsn,omitempty"`
	// passwordSecretRef is the password of the DSN's user, in the server's
	// namespace. Its key is "password" when empty. Every byte of the value
	// counts, a line break at its end as well.
	// +optional
	PasswordSecretRef *SecretKeyRef `json:"passwordSecretRef,omitempty"`
	// postgresClusterRef names a postgresql.acid.zalan.do object in the
	// server's namespace. Host, user, database and password are read from it.
	// +optional
	PostgresClusterRef *DatabaseClusterRef `json:"postgresClusterRef,omitempty"`
	// cnpgClusterRef names a clusters.postgresql.cnpg.io object in the server's
	// namespace. Host, user, database and password are read from it.
	// +optional
	CNPGClusterRef *DatabaseClusterRef `json:"cnpgClusterRef,omitempty"`
	// sslMode of the connection to a cluster that is named by reference;
	// require when empty. A DSN says it itself.
	// +optional
	// +kubebuilder:validation:Enum=disable;allow;prefer;require;verify-ca;verify-full
	SSLMode string `json:"sslMode,omitempty"`
	// caSecretRef is the certificate authority that the database's certificate
	// is checked against, mounted into the pod. Its key is "ca.crt" when empty.
	// With cnpgClusterRef and sslMode verify-ca or verify-full it is the
	// cluster's own, <cluster>-ca, when not set.
	// +optional
	CASecretRef *SecretKeyRef `json:"caSecretRef,omitempty"`
	// restartOnRotation restarts the pods when the database's password changes.
	// Default false: the change is reported, and the pods are yours to restart.
	// Turning it on or off restarts them once.
	// +optional
	RestartOnRotation bool `json:"restartOnRotation,omitempty"`
}

// DatabaseClusterRef names an object of a PostgreSQL operator in the namespace
// of the TerdutServer.
type DatabaseClusterRef struct {
	// name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`
	// database in it; may be empty when the object has exactly one.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Database string `json:"database,omitempty"`
	// user of the database; its owner when empty.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	User string `json:"user,omitempty"`
}

// ServerDatabaseStatus is what the operator remembers of the database's
// password, without the password.
type ServerDatabaseStatus struct {
	// passwordSecretRef is the key that the pods read the password from.
	PasswordSecretRef SecretKeyRef `json:"passwordSecretRef"`
	// passwordHMAC tells a change of the password, and nothing else about it.
	// It is made with a key of the operator's own.
	// +kubebuilder:validation:MaxLength=128
	PasswordHMAC string `json:"passwordHMAC"`
	// outdatedPods have run since before the password last changed, and need a
	// restart; as <pod>/<restarts>. There are none with restartOnRotation.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=280
	OutdatedPods []string `json:"outdatedPods,omitempty"`
}
