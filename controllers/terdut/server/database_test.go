package server

import (
	"net/url"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
)

func postgres(state string, databases map[string]any) *unstructured.Unstructured {
	object := map[string]any{
		"metadata": map[string]any{"namespace": "oncall", "name": "pg"},
		"spec":     map[string]any{},
		"status":   map[string]any{"PostgresClusterStatus": state},
	}
	if databases != nil {
		object["spec"] = map[string]any{"databases": databases}
	}
	return &unstructured.Unstructured{Object: object}
}

func TestDatabaseOf(t *testing.T) {
	one := map[string]any{"terdut": "terdut_owner"}
	for name, c := range map[string]struct {
		cluster *unstructured.Unstructured
		reason  string
		says    string
	}{
		"new":          {postgres("", one), v1alpha1.ReasonClusterNotReady, "unknown"},
		"creating":     {postgres("Creating", one), v1alpha1.ReasonClusterNotReady, "Creating"},
		"invalid":      {postgres("Invalid", one), v1alpha1.ReasonClusterNotReady, "Invalid"},
		"running":      {postgres("Running", one), "", ""},
		"updating":     {postgres("Updating", one), "", ""},
		"sync failed":  {postgres("SyncFailed", one), "", ""},
		"no database":  {postgres("Running", nil), v1alpha1.ReasonDatabaseAmbiguous, "spec.databases"},
		"two of them":  {postgres("Running", map[string]any{"b": "y", "a": "x"}), v1alpha1.ReasonDatabaseAmbiguous, "a of x, b of y"},
		"other shapes": {postgres("Running", map[string]any{"a": int64(1)}), v1alpha1.ReasonDatabaseAmbiguous, "declares no database"},
	} {
		database, err := databaseOf(c.cluster)
		if c.reason == "" {
			if err != nil || database.DSN != "postgres://terdut_owner@pg.oncall.svc:5432/terdut?sslmode=require" {
				t.Errorf("%s: %+v, %v", name, database, err)
			}
			continue
		}
		ending, ok := outcome.As(err)
		if !ok || ending.Reason != c.reason || ending.Condition != v1alpha1.ConditionDatabaseReady || !strings.Contains(ending.Message, c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestClusterError(t *testing.T) {
	key := client.ObjectKey{Namespace: "oncall", Name: "pg"}
	resource := schema.GroupResource{Group: "acid.zalan.do", Resource: "postgresqls"}
	for reason, err := range map[string]error{
		v1alpha1.ReasonClusterNotFound: apierrors.NewNotFound(resource, "pg"),
		v1alpha1.ReasonCRDNotInstalled: &meta.NoKindMatchError{GroupKind: postgresKind.GroupKind()},
	} {
		if ending, ok := outcome.As(clusterError(key, err)); !ok || ending.Reason != reason {
			t.Errorf("%v: %v, want %s", err, ending, reason)
		}
	}
	gone := clusterError(key, apierrors.NewGenericServerResponse(404, "get", resource, "pg", "404 page not found", 0, true))
	if ending, ok := outcome.As(gone); !ok || ending.Reason != v1alpha1.ReasonCRDNotInstalled || ending.After != crdPause {
		t.Errorf("a kind that is not served any more: %v", gone)
	}
	if _, ok := outcome.As(clusterError(key, apierrors.NewTimeoutError("slow", 1))); ok {
		t.Error("a failing API server proves nothing")
	}
}

func TestPostgresSecretNames(t *testing.T) {
	name := postgresSecretName("app_user", "pg")
	if name != "app-user.pg.credentials.postgresql.acid.zalan.do" {
		t.Errorf("got %s", name)
	}
	if cluster, ok := postgresClusterOf(name); !ok || cluster != "pg" {
		t.Errorf("got %q %v", cluster, ok)
	}
	for _, other := range []string{"pg", "pg" + postgresSecrets, "a.b.c"} {
		if cluster, ok := postgresClusterOf(other); ok {
			t.Errorf("%s is of cluster %q", other, cluster)
		}
	}
}

// Whatever user and database are called, the DSN leads to the cluster.
func FuzzDatabaseOf(f *testing.F) {
	f.Add("terdut", "terdut_owner")
	f.Add("a/b?host=evil", "u@evil:1/x#")
	f.Add("", ":p@")
	f.Fuzz(func(t *testing.T, database, user string) {
		got, err := databaseOf(postgres("Running", map[string]any{database: user}))
		if err != nil {
			t.Fatal(err)
		}
		dsn, err := url.Parse(got.DSN)
		if err != nil {
			t.Fatalf("%q: %v", got.DSN, err)
		}
		if dsn.Host != "pg.oncall.svc:5432" || dsn.Path != "/"+database || dsn.RawQuery != "sslmode=require" || dsn.User.Username() != user {
			t.Errorf("%q leads elsewhere", got.DSN)
		}
		if _, hasPassword := dsn.User.Password(); hasPassword {
			t.Errorf("%q holds a password", got.DSN)
		}
	})
}
