package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
)

// crdPause is the time after which a kind that was not served is asked for
// again, should nothing have told its arrival before.
const crdPause = time.Minute

// clusterDatabase is what a cluster object says about one of its databases.
type clusterDatabase struct {
	host, database, user string
	password             SecretKey
	// ca signed the certificate of the database, as far as its operator says;
	// else nil.
	ca *SecretKey
}

// clusterKind is the cluster object of a PostgreSQL operator.
type clusterKind struct {
	schema.GroupVersionKind
	// field of the spec that names an object of the kind.
	field string
	// resource is the kind as kubectl takes it.
	resource string
	// operator that the kind comes with.
	operator string
	// read gives the database that a reference means. It is pure.
	read func(*unstructured.Unstructured, *v1alpha1.DatabaseClusterRef) (clusterDatabase, error)
}

var (
	zalandoKind = clusterKind{
		GroupVersionKind: schema.GroupVersionKind{Group: "acid.zalan.do", Version: "v1", Kind: "postgresql"},
		field:            zalandoField, resource: zalandoResource, operator: "the postgres-operator", read: readZalando,
	}
	cnpgKind = clusterKind{
		GroupVersionKind: schema.GroupVersionKind{Group: "postgresql.cnpg.io", Version: "v1", Kind: "Cluster"},
		field:            cnpgField, resource: cnpgResource, operator: "CloudNativePG", read: readCNPG,
	}
)

// clusterOf is the cluster that a database names, or a nil reference.
func clusterOf(spec *v1alpha1.ServerDatabase) (clusterKind, *v1alpha1.DatabaseClusterRef) {
	switch {
	case spec.PostgresClusterRef != nil:
		return zalandoKind, spec.PostgresClusterRef
	case spec.CNPGClusterRef != nil:
		return cnpgKind, spec.CNPGClusterRef
	}
	return clusterKind{}, nil
}

// cluster reads a cluster object live: its kind may come and go, and a cache of
// it with it.
func (r *Reconciler) cluster(ctx context.Context, namespace string, kind clusterKind, name string) (*unstructured.Unstructured, error) {
	cluster := &unstructured.Unstructured{}
	cluster.SetGroupVersionKind(kind.GroupVersionKind)
	key := client.ObjectKey{Namespace: namespace, Name: name}
	if err := r.Live.Get(ctx, key, cluster); err != nil {
		return nil, clusterError(kind, key, err)
	}
	return cluster, nil
}

// clusterError tells an object that is absent from a kind that is.
func clusterError(kind clusterKind, key client.ObjectKey, err error) error {
	switch {
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		ending := outcome.Waiting(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonCRDNotInstalled,
			"%s needs the kind %s, which this cluster does not serve: install %s, or set spec.database.dsn", kind.field, kind.resource, kind.operator).Because(err)
		ending.After = crdPause
		return ending
	case apierrors.IsNotFound(err):
		return outcome.Waiting(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonClusterNotFound,
			"%s names %s %q, which does not exist in namespace %q: create it, or correct the name", kind.field, kind.resource, key.Name, key.Namespace).Because(err)
	}
	return fmt.Errorf("read %s %s: %w", kind.resource, key, err)
}

// serversOfCluster finds the servers that name a cluster object.
func (r *Reconciler) serversOfCluster(kind clusterKind) handler.MapFunc {
	return func(ctx context.Context, cluster client.Object) []reconcile.Request {
		var requests []reconcile.Request
		servers := r.list(ctx, client.InNamespace(cluster.GetNamespace()))
		for i := range servers {
			named, ref := clusterOf(&servers[i].Spec.Database)
			if ref != nil && ref.Name == cluster.GetName() && named.GroupVersionKind == kind.GroupVersionKind {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&servers[i])})
			}
		}
		return requests
	}
}

// clusterChanged passes what a pass reads of a cluster object. Its operator
// writes more into its status than that.
func clusterChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() || e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			!equality.Semantic.DeepEqual(clusterState(e.ObjectOld), clusterState(e.ObjectNew))
	}}
}

// clusterState is what is read of the status of a cluster object.
func clusterState(object client.Object) [5]any {
	cluster, ok := object.(*unstructured.Unstructured)
	if !ok {
		return [5]any{}
	}
	var state [5]any
	for i, path := range [][]string{
		{"status", "PostgresClusterStatus"}, {"status", "phase"}, {"status", "readyInstances"},
		{"status", "certificates", "serverCASecret"},
		// Where the kind has no generation of its own, the spec tells.
		{"spec"},
	} {
		// What is not there, or is of another shape, is nil.
		state[i], _, _ = unstructured.NestedFieldNoCopy(cluster.Object, path...)
	}
	return state
}

// text is a string of an object; one that is not there, or is no string, is
// empty.
func text(object map[string]any, path ...string) string {
	value, _, err := unstructured.NestedString(object, path...)
	if err != nil {
		return ""
	}
	return value
}

// maxChoices is how many databases a message names.
const maxChoices = 10

// choices lists databases, each with its owner where one is known.
func choices(databases map[string]string) string {
	names := slices.Sorted(maps.Keys(databases))
	for i, name := range names {
		if i == maxChoices {
			return strings.Join(names[:i], ", ") + ", ..."
		}
		if owner := databases[name]; owner != "" {
			names[i] = name + " of " + owner
		}
	}
	return strings.Join(names, ", ")
}
