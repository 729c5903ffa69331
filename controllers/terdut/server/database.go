package server

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
)

// postgresKind is the cluster object of the Zalando postgres-operator.
var postgresKind = schema.GroupVersionKind{Group: "acid.zalan.do", Version: "v1", Kind: "postgresql"}

const (
	postgresPort = "5432"
	// postgresSecrets ends the name of every credentials Secret of that
	// operator: {username}.{cluster}.credentials.{kind}.{group}.
	postgresSecrets = ".credentials.postgresql.acid.zalan.do"
	// crdPause is the time after which a kind that was not served is asked for
	// again. Nothing can be watched until then.
	crdPause = time.Minute
)

// servingStates are those of a cluster that has a database to connect to. The
// failed ones failed to change, not to serve.
var servingStates = []string{"Running", "Updating", "UpdateFailed", "SyncFailed"}

// database finds out where the server keeps its state.
func (r *Reconciler) database(ctx context.Context, server *v1alpha1.TerdutServer) (Database, error) {
	spec := &server.Spec.Database
	if spec.PostgresClusterRef == nil {
		database := Database{DSN: spec.DSN, Password: secretKey(spec.PasswordSecretRef, defaultPasswordKey)}
		return database, r.prove(ctx, server, v1alpha1.ConditionDatabaseReady, "spec.database.passwordSecretRef", database.Password)
	}
	cluster := &unstructured.Unstructured{}
	cluster.SetGroupVersionKind(postgresKind)
	key := client.ObjectKey{Namespace: server.Namespace, Name: spec.PostgresClusterRef.Name}
	if err := r.Live.Get(ctx, key, cluster); err != nil {
		return Database{}, clusterError(key, err)
	}
	database, err := databaseOf(cluster)
	if err != nil {
		return Database{}, err
	}
	err = r.prove(ctx, server, v1alpha1.ConditionDatabaseReady, "spec.database.postgresClusterRef", database.Password)
	if ending, ok := outcome.As(err); ok {
		// That operator makes the Secret; it only takes its time.
		ending.Retry = outcome.RetryBackoff
	}
	return database, err
}

// clusterError tells an object that is absent from a kind that is.
func clusterError(key client.ObjectKey, err error) error {
	switch {
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		ending := outcome.Waiting(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonCRDNotInstalled,
			"spec.database.postgresClusterRef needs the kind postgresql.acid.zalan.do, which this cluster does not serve: install the postgres-operator, or set spec.database.dsn").Because(err)
		ending.After = crdPause
		return ending
	case apierrors.IsNotFound(err):
		return outcome.Waiting(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonClusterNotFound,
			"spec.database.postgresClusterRef names postgresql %q, which does not exist in namespace %q: create it, or correct the name", key.Name, key.Namespace).Because(err)
	}
	return fmt.Errorf("read postgresql %s: %w", key, err)
}

// databaseOf reads host, user, database and the place of the password from a
// cluster object. It is pure.
func databaseOf(cluster *unstructured.Unstructured) (Database, error) {
	name := cluster.GetName()
	state, _, err := unstructured.NestedString(cluster.Object, "status", "PostgresClusterStatus")
	if err != nil || !slices.Contains(servingStates, state) {
		if state == "" {
			state = "unknown"
		}
		return Database{}, outcome.Waiting(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonClusterNotReady,
			"postgresql %q is not ready, its status is %s: see kubectl describe postgresql %s", name, state, name)
	}
	databases, _, err := unstructured.NestedStringMap(cluster.Object, "spec", "databases")
	if err != nil {
		databases = nil
	}
	switch len(databases) {
	case 1:
	case 0:
		return Database{}, outcome.Waiting(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDatabaseAmbiguous,
			"postgresql %q declares no database: add exactly one, with its owner, to its spec.databases, or set spec.database.dsn here", name)
	default:
		return Database{}, outcome.Waiting(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDatabaseAmbiguous,
			"postgresql %q declares %d databases (%s) and exactly one is needed: set spec.database.dsn to the one that is meant", name, len(databases), choices(databases))
	}
	database := slices.Collect(maps.Keys(databases))[0]
	user := databases[database]
	dsn := url.URL{
		Scheme:   "postgres",
		User:     url.User(user),
		Host:     net.JoinHostPort(name+"."+cluster.GetNamespace()+".svc", postgresPort),
		Path:     "/" + database,
		RawQuery: url.Values{"sslmode": {"require"}}.Encode(),
	}
	return Database{DSN: dsn.String(), Password: &SecretKey{Secret: postgresSecretName(user, name), Key: defaultPasswordKey}}, nil
}

// maxChoices is how many databases a message names.
const maxChoices = 10

func choices(databases map[string]string) string {
	names := slices.Sorted(maps.Keys(databases))
	for i, name := range names {
		if i == maxChoices {
			return strings.Join(names[:i], ", ") + ", ..."
		}
		names[i] = name + " of " + databases[name]
	}
	return strings.Join(names, ", ")
}

// postgresSecretName is the Secret that the postgres-operator makes for a user
// of a cluster. Names of Secrets cannot hold the underscore of a user name.
func postgresSecretName(user, cluster string) string {
	return strings.ReplaceAll(user, "_", "-") + "." + cluster + postgresSecrets
}

// postgresClusterOf is the cluster whose user a Secret of that name belongs to.
func postgresClusterOf(secret string) (string, bool) {
	rest, found := strings.CutSuffix(secret, postgresSecrets)
	if !found {
		return "", false
	}
	// A cluster bears the name of a Service, which has no dot.
	dot := strings.LastIndexByte(rest, '.')
	return rest[dot+1:], dot > 0
}
