package server

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
)

// Where the certificate authority of the database is in the pod.
const (
	caVolume = "database-ca"
	caMount  = "/etc/terdut-database-ca"
	caFile   = "ca.crt"

	defaultCAKey = "ca.crt"
)

// wiring is a database as it was named: by the spec alone, or by a cluster
// object.
type wiring struct {
	Database
	// passwordField and caField are the fields of the spec that led to the
	// Secrets.
	passwordField, caField string
	// made is true when the operator of the cluster makes the Secrets: then a
	// missing one is no mistake, it only takes its time.
	made bool
}

// database finds out where the server keeps its state, and proves that the pods
// will find what they need there.
func (r *Reconciler) database(ctx context.Context, server *v1alpha1.TerdutServer) (Database, error) {
	wired, err := r.wire(ctx, server)
	if err != nil {
		return Database{}, err
	}
	// Before they are read: a change after that is seen.
	r.databases.uses(server, wired.Password, wired.CA)
	if wired.Password != nil {
		password, readErr := r.value(ctx, server, v1alpha1.ConditionDatabaseReady, wired.passwordField, wired.Password)
		if readErr != nil {
			return Database{}, wired.patient(readErr)
		}
		wired.PasswordHMAC = passwordHMAC(r.databases.key(server), password)
	}
	if err = r.prove(ctx, server, v1alpha1.ConditionDatabaseReady, wired.caField, wired.CA); err != nil {
		return Database{}, wired.patient(err)
	}
	return wired.Database, nil
}

// wire resolves the database without any Secret.
func (r *Reconciler) wire(ctx context.Context, server *v1alpha1.TerdutServer) (wiring, error) {
	kind, ref := clusterOf(&server.Spec.Database)
	if ref == nil {
		return ownWiring(&server.Spec.Database)
	}
	cluster, err := r.cluster(ctx, server.Namespace, kind, ref.Name)
	if err != nil {
		return wiring{}, err
	}
	return clusterWiring(&server.Spec.Database, cluster)
}

// ownWiring is the database of a DSN.
func ownWiring(spec *v1alpha1.ServerDatabase) (wiring, error) {
	wired := wiring{passwordField: "spec.database.passwordSecretRef", caField: "spec.database.caSecretRef"}
	wired.DSN = spec.DSN
	wired.Password = secretKey(spec.PasswordSecretRef, defaultPasswordKey)
	if wired.CA = secretKey(spec.CASecretRef, defaultCAKey); wired.CA == nil {
		return wired, nil
	}
	var err error
	if wired.DSN, err = withCA(spec.DSN); err != nil {
		// The reason would repeat the DSN.
		return wiring{}, outcome.Refused(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonInvalid,
			"spec.database.dsn cannot be read as a URL, and the certificate authority of caSecretRef cannot be added to it: correct it")
	}
	return wired, nil
}

// clusterWiring is the database in a cluster. It is pure.
func clusterWiring(spec *v1alpha1.ServerDatabase, cluster *unstructured.Unstructured) (wiring, error) {
	kind, ref := clusterOf(spec)
	if ref == nil {
		return wiring{}, errors.New("read a database cluster: the spec names none")
	}
	found, err := kind.read(cluster, ref)
	if err != nil {
		return wiring{}, err
	}
	mode := spec.SSLMode
	if mode == "" {
		mode = defaultSSLMode
	}
	wired := wiring{passwordField: kind.field, caField: "spec.database.caSecretRef", made: true}
	wired.Password = &found.password
	if wired.CA = secretKey(spec.CASecretRef, defaultCAKey); wired.CA == nil && checksCertificate(mode) {
		wired.CA, wired.caField = found.ca, kind.field
	}
	wired.DSN = clusterDSN(found, mode, wired.CA != nil)
	return wired, nil
}

// patient tries again what another operator is about to make.
func (w *wiring) patient(err error) error {
	if ending, ok := outcome.As(err); ok && w.made {
		ending.Retry = outcome.RetryBackoff
	}
	return err
}

// namesPassword tells whether a database has a password that can change.
func namesPassword(spec *v1alpha1.ServerDatabase) bool {
	_, ref := clusterOf(spec)
	return ref != nil || secretKey(spec.PasswordSecretRef, defaultPasswordKey) != nil
}
