package database_test

import (
	"errors"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
)

const (
	zalandoFile = "acid.zalan.do_postgresqls.yaml"
	cnpgFile    = "postgresql.cnpg.io_clusters.yaml"

	zalandoCluster = `
apiVersion: acid.zalan.do/v1
kind: postgresql
metadata: {name: pg}
spec:
  teamId: oncall
  numberOfInstances: 1
  volume: {size: 1Gi}
  postgresql: {version: "17"}
  users: {app_owner: [], other: []}
  databases: {app: app_owner, other: other}
`
	cnpgCluster = `
apiVersion: postgresql.cnpg.io/v1
kind: Cluster
metadata: {name: pg}
spec:
  instances: 1
  storage: {size: 1Gi}
  bootstrap: {initdb: {database: terdut, owner: terdut}}
  managed:
    roles:
      - {name: pager, login: true, passwordSecret: {name: pager-password}}
`
)

// definitions are where the custom resources come from.
var definitions = []struct{ of, directory string }{
	{"the project's stubs", testenv.Path("test", "crds")},
	{"the real definitions", testenv.Path("..", "shared", "crds")},
}

// definition is a file of a directory; without it the spec is skipped.
func definition(directory, file string) string {
	GinkgoHelper()
	path := filepath.Join(directory, file)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		Skip("the real definition is not at hand: put it at " + path)
	}
	return path
}

var _ = Describe("a database cluster", func() {
	for _, d := range definitions {
		It("of the postgres-operator is taken up step by step, with "+d.of, func(ctx SpecContext) {
			file := definition(d.directory, zalandoFile)
			w := newWorld(ctx)
			w.create(ctx, looseImage, v1alpha1.ServerDatabase{PostgresClusterRef: &v1alpha1.DatabaseClusterRef{Name: "pg"}})
			w.becomes(ctx, "False CRDNotInstalled", "postgresql.acid.zalan.do", "the postgres-operator", "spec.database.dsn")
			install(ctx, file)
			w.becomes(ctx, "False ClusterNotFound", `"pg"`)
			cluster := w.cluster(ctx, zalandoCluster)
			w.becomes(ctx, "False ClusterNotReady", "unknown")
			for _, state := range []string{"Creating", "CreateFailed", "Invalid"} {
				report(ctx, cluster, map[string]any{"PostgresClusterStatus": state})
				w.becomes(ctx, "False ClusterNotReady", state)
			}
			report(ctx, cluster, map[string]any{"PostgresClusterStatus": "Running"})
			w.becomes(ctx, "False DatabaseAmbiguous", "app of app_owner, other of other")
			w.refer(ctx, v1alpha1.DatabaseClusterRef{Name: "pg", Database: "apps"})
			w.becomes(ctx, "False DatabaseNotDeclared", `"apps"`, "app of app_owner")
			w.refer(ctx, v1alpha1.DatabaseClusterRef{Name: "pg", Database: "app", User: "nobody"})
			w.becomes(ctx, "False DatabaseUserUnknown", `"nobody"`, "app_owner, other")
			w.refer(ctx, v1alpha1.DatabaseClusterRef{Name: "pg", Database: "app"})

			const secret = "app-owner.pg.credentials.postgresql.acid.zalan.do"
			w.becomes(ctx, "False SecretNotFound", secret)
			Expect(apierrors.IsNotFound(env.Admin.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, &appsv1.Deployment{}))).To(BeTrue())
			w.secret(ctx, secret, map[string]string{"username": "app_owner"})
			w.becomes(ctx, "False SecretKeyMissing", secret)
			w.password(ctx, secret, "p")
			w.settles(ctx)
			Expect(w.env(ctx, "TERDUT_DATABASE_URL").Value).To(Equal("postgres://app_owner@pg." + w.namespace + ".svc:5432/app?sslmode=require"))
			Expect(w.env(ctx, "PGPASSWORD").ValueFrom.SecretKeyRef.Name).To(Equal(secret))

			By("and a change of the cluster reaches the server")
			for _, state := range []string{"Updating", "UpdateFailed", "SyncFailed"} {
				report(ctx, cluster, map[string]any{"PostgresClusterStatus": state})
			}
			change(ctx, w, object(cluster), "pg", func(o *unstructured.Unstructured) {
				Expect(unstructured.SetNestedField(o.Object, "other", "spec", "databases", "app")).To(Succeed())
			})
			w.becomes(ctx, "False SecretNotFound", "other.pg.credentials.postgresql.acid.zalan.do")
		})

		It("of CloudNativePG is taken up step by step, with "+d.of, func(ctx SpecContext) {
			file := definition(d.directory, cnpgFile)
			w := newWorld(ctx)
			w.create(ctx, looseImage, v1alpha1.ServerDatabase{
				CNPGClusterRef: &v1alpha1.DatabaseClusterRef{Name: "pg"}, SSLMode: "verify-full",
			})
			w.becomes(ctx, "False CRDNotInstalled", "clusters.postgresql.cnpg.io", "CloudNativePG", "spec.database.dsn")
			install(ctx, file)
			w.becomes(ctx, "False ClusterNotFound", `"pg"`)
			cluster := w.cluster(ctx, cnpgCluster)
			w.becomes(ctx, "False ClusterNotReady", "unknown")
			report(ctx, cluster, map[string]any{"phase": "Setting up primary", "readyInstances": int64(0)})
			w.becomes(ctx, "False ClusterNotReady", "Setting up primary")
			report(ctx, cluster, map[string]any{"phase": "Cluster in healthy state", "readyInstances": int64(1)})
			w.becomes(ctx, "False SecretNotFound", `"pg-app"`)
			w.secret(ctx, "pg-app", map[string]string{"username": "terdut", "password": "p"})
			w.becomes(ctx, "False SecretNotFound", `"pg-ca"`)
			w.secret(ctx, "pg-ca", map[string]string{"ca.crt": "certificate", "ca.key": "private"})
			w.settles(ctx)
			Expect(w.env(ctx, "TERDUT_DATABASE_URL").Value).To(Equal("postgres://terdut@pg-rw." + w.namespace +
				".svc:5432/terdut?sslmode=verify-full&sslrootcert=/etc/terdut-database-ca/ca.crt"))
			Expect(w.env(ctx, "PGPASSWORD").ValueFrom.SecretKeyRef.Name).To(Equal("pg-app"))

			By("and another user is one that the cluster manages")
			w.refer(ctx, v1alpha1.DatabaseClusterRef{Name: "pg", User: "postgres"})
			w.becomes(ctx, "False DatabaseUserUnknown", "spec.managed.roles")
			w.refer(ctx, v1alpha1.DatabaseClusterRef{Name: "pg", User: "pager"})
			w.becomes(ctx, "False SecretNotFound", `"pager-password"`)
			w.secret(ctx, "pager-password", map[string]string{"username": "pager", "password": "q"})
			w.settles(ctx)
			Expect(w.env(ctx, "PGPASSWORD").ValueFrom.SecretKeyRef.Name).To(Equal("pager-password"))
		})

		It("may go and come back while the operator runs, with "+d.of, func(ctx SpecContext) {
			file := definition(d.directory, cnpgFile)
			w := newWorld(ctx)
			w.secret(ctx, "pg-app", map[string]string{"password": "p"})
			w.create(ctx, looseImage, v1alpha1.ServerDatabase{CNPGClusterRef: &v1alpha1.DatabaseClusterRef{Name: "pg"}})
			var before []string
			for range 2 {
				w.becomes(ctx, "False CRDNotInstalled")
				remove := install(ctx, file)
				report(ctx, w.cluster(ctx, cnpgCluster), map[string]any{"readyInstances": int64(1)})
				w.settles(ctx)
				if before == nil {
					before = w.pods(ctx)
				}
				remove(ctx)
			}
			w.becomes(ctx, "False CRDNotInstalled")
			Expect(w.pods(ctx)).To(Equal(before), "the pager runs on")
		})
	}
})

// refer changes the reference to the cluster.
func (w *world) refer(ctx SpecContext, to v1alpha1.DatabaseClusterRef) {
	GinkgoHelper()
	change(ctx, w, &v1alpha1.TerdutServer{}, name, func(s *v1alpha1.TerdutServer) {
		if s.Spec.Database.PostgresClusterRef != nil {
			s.Spec.Database.PostgresClusterRef = &to
			return
		}
		s.Spec.Database.CNPGClusterRef = &to
	})
}

// object is an empty one of the same kind.
func object(of *unstructured.Unstructured) *unstructured.Unstructured {
	empty := &unstructured.Unstructured{}
	empty.SetGroupVersionKind(of.GroupVersionKind())
	return empty
}
