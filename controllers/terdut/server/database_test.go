package server

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
)

// clusterCase is a cluster object and what a reference to it means.
type clusterCase struct {
	// spec and status of the object, as YAML.
	object string
	ref    v1alpha1.DatabaseClusterRef
	// reason and says are the ending; without a reason dsn and secret are what
	// was found.
	reason, says string
	dsn, secret  string
}

func (c *clusterCase) try(t *testing.T, spec *v1alpha1.ServerDatabase) {
	t.Helper()
	cluster := clusterObject(t, c.object)
	wired, err := clusterWiring(spec, cluster)
	if c.reason == "" {
		if err != nil || wired.DSN != c.dsn || wired.Password.Secret != c.secret || wired.Password.Key != "password" {
			t.Errorf("%+v, %+v, %v", wired.DSN, wired.Password, err)
		}
		return
	}
	ending, ok := outcome.As(err)
	if !ok || ending.Reason != c.reason || ending.Condition != v1alpha1.ConditionDatabaseReady || !strings.Contains(ending.Message, c.says) {
		t.Errorf("%v, want %s: ...%s...", err, c.reason, c.says)
	}
}

// clusterObject has the numbers of an object that the API server gives: whole
// ones.
func clusterObject(t *testing.T, content string) *unstructured.Unstructured {
	t.Helper()
	cluster := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte("{apiVersion: x/v1, kind: X, metadata: {namespace: oncall, name: pg}}"), cluster); err != nil {
		t.Fatal(err)
	}
	given := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte("apiVersion: x/v1\nkind: X\n"+content), given); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"spec", "status"} {
		if value, found := given.Object[field]; found {
			cluster.Object[field] = value
		}
	}
	return cluster
}

func TestZalando(t *testing.T) {
	const (
		running = "status: {PostgresClusterStatus: Running}\n"
		one     = "spec: {users: {owner: [], other: [createdb], group: [NOLOGIN]}, databases: {terdut: owner}}\n"
		two     = "spec: {users: {x: [], z: []}, databases: {b: z, a: x}}\n"
		dsn     = "postgres://owner@pg.oncall.svc:5432/terdut?sslmode=require"
		secret  = "owner.pg.credentials.postgresql.acid.zalan.do"
	)
	for name, c := range map[string]clusterCase{
		"new":           {object: one, reason: v1alpha1.ReasonClusterNotReady, says: "unknown"},
		"creating":      {object: one + "status: {PostgresClusterStatus: Creating}", reason: v1alpha1.ReasonClusterNotReady, says: "Creating"},
		"invalid":       {object: one + "status: {PostgresClusterStatus: Invalid}", reason: v1alpha1.ReasonClusterNotReady, says: "Invalid"},
		"not created":   {object: one + "status: {PostgresClusterStatus: CreateFailed}", reason: v1alpha1.ReasonClusterNotReady, says: "CreateFailed"},
		"other status":  {object: one + "status: {PostgresClusterStatus: {a: b}}", reason: v1alpha1.ReasonClusterNotReady, says: "unknown"},
		"running":       {object: one + running, dsn: dsn, secret: secret},
		"updating":      {object: one + "status: {PostgresClusterStatus: Updating}", dsn: dsn, secret: secret},
		"update failed": {object: one + "status: {PostgresClusterStatus: UpdateFailed}", dsn: dsn, secret: secret},
		"sync failed":   {object: one + "status: {PostgresClusterStatus: SyncFailed}", dsn: dsn, secret: secret},

		"no database":  {object: running, reason: v1alpha1.ReasonDatabaseAmbiguous, says: "spec.databases"},
		"two of them":  {object: two + running, reason: v1alpha1.ReasonDatabaseAmbiguous, says: "spec.database.postgresClusterRef.database: a of x, b of z"},
		"one of two":   {object: two + running, ref: v1alpha1.DatabaseClusterRef{Database: "b"}, dsn: "postgres://z@pg.oncall.svc:5432/b?sslmode=require", secret: "z.pg.credentials.postgresql.acid.zalan.do"},
		"another":      {object: two + running, ref: v1alpha1.DatabaseClusterRef{Database: "c"}, reason: v1alpha1.ReasonDatabaseNotDeclared, says: `"c"`},
		"one in none":  {object: running, ref: v1alpha1.DatabaseClusterRef{Database: "c"}, reason: v1alpha1.ReasonDatabaseNotDeclared, says: "spec.databases"},
		"other shapes": {object: "spec: {databases: {a: 1}}\n" + running, reason: v1alpha1.ReasonDatabaseAmbiguous, says: "declares no database"},

		"a user":           {object: one + running, ref: v1alpha1.DatabaseClusterRef{User: "other"}, dsn: "postgres://other@pg.oncall.svc:5432/terdut?sslmode=require", secret: "other.pg.credentials.postgresql.acid.zalan.do"},
		"unknown user":     {object: one + running, ref: v1alpha1.DatabaseClusterRef{User: "who"}, reason: v1alpha1.ReasonDatabaseUserUnknown, says: "group, other, owner"},
		"user that cannot": {object: one + running, ref: v1alpha1.DatabaseClusterRef{User: "group"}, reason: v1alpha1.ReasonDatabaseUserUnknown, says: "nologin"},
		"undeclared owner": {object: "spec: {databases: {terdut: my_app_owner}}\n" + running, dsn: "postgres://my_app_owner@pg.oncall.svc:5432/terdut?sslmode=require", secret: "my-app-owner.pg.credentials.postgresql.acid.zalan.do"},

		"prepared":               {object: "spec: {preparedDatabases: {app: {defaultUsers: true}}}\n" + running, dsn: "postgres://app_owner_user@pg.oncall.svc:5432/app?sslmode=require", secret: "app-owner-user.pg.credentials.postgresql.acid.zalan.do"},
		"prepared, writer":       {object: "spec: {preparedDatabases: {app: {defaultUsers: true}}}\n" + running, ref: v1alpha1.DatabaseClusterRef{User: "app_writer_user"}, dsn: "postgres://app_writer_user@pg.oncall.svc:5432/app?sslmode=require", secret: "app-writer-user.pg.credentials.postgresql.acid.zalan.do"},
		"prepared without users": {object: "spec: {preparedDatabases: {app: {}}}\n" + running, reason: v1alpha1.ReasonDatabaseUserUnknown, says: "defaultUsers"},
	} {
		t.Run(name, func(t *testing.T) {
			c.ref.Name = "pg"
			c.try(t, &v1alpha1.ServerDatabase{PostgresClusterRef: &c.ref})
		})
	}
}

func TestCNPG(t *testing.T) {
	const (
		ready = "status: {readyInstances: 1, phase: Cluster in healthy state}\n"
		fresh = "spec: {bootstrap: {initdb: {database: terdut, owner: owner}}, managed: {roles: [" +
			"{name: pager, login: true, passwordSecret: {name: pager-password}}, {name: bare, login: true}, {name: group}, " +
			"{name: gone, ensure: absent, login: true, passwordSecret: {name: x}}]}}\n"
		dsn = "postgres://owner@pg-rw.oncall.svc:5432/terdut?sslmode=require"
		app = "postgres://app@pg-rw.oncall.svc:5432/app?sslmode=require"
	)
	user := func(name string) v1alpha1.DatabaseClusterRef { return v1alpha1.DatabaseClusterRef{User: name} }
	for name, c := range map[string]clusterCase{
		"new":           {object: fresh, reason: v1alpha1.ReasonClusterNotReady, says: "unknown"},
		"setting up":    {object: fresh + "status: {phase: Setting up primary}", reason: v1alpha1.ReasonClusterNotReady, says: "Setting up primary"},
		"none is ready": {object: fresh + "status: {readyInstances: 0, phase: Failing over}", reason: v1alpha1.ReasonClusterNotReady, says: "Failing over"},
		"other shapes":  {object: fresh + "status: {readyInstances: many}", reason: v1alpha1.ReasonClusterNotReady},

		"ready":          {object: fresh + ready, dsn: dsn, secret: "pg-app"},
		"its defaults":   {object: "spec: {instances: 1}\n" + ready, dsn: app, secret: "pg-app"},
		"default owner":  {object: "spec: {bootstrap: {initdb: {database: d}}}\n" + ready, dsn: "postgres://d@pg-rw.oncall.svc:5432/d?sslmode=require", secret: "pg-app"},
		"its own Secret": {object: "spec: {bootstrap: {initdb: {database: app, owner: app, secret: {name: mine}}}}\n" + ready, dsn: app, secret: "mine"},
		"recovered":      {object: "spec: {bootstrap: {recovery: {database: app, owner: app}}}\n" + ready, dsn: app, secret: "pg-app"},
		"recovered, no database": {object: "spec: {bootstrap: {recovery: {source: old}}}\n" + ready,
			reason: v1alpha1.ReasonDatabaseAmbiguous, says: "cnpgClusterRef.database"},
		"imported as a whole": {object: "spec: {bootstrap: {initdb: {import: {type: monolith}}}}\n" + ready,
			reason: v1alpha1.ReasonDatabaseAmbiguous, says: "cnpgClusterRef.database"},

		"the owner":         {object: fresh + ready, ref: user("owner"), dsn: dsn, secret: "pg-app"},
		"a managed role":    {object: fresh + ready, ref: user("pager"), dsn: "postgres://pager@pg-rw.oncall.svc:5432/terdut?sslmode=require", secret: "pager-password"},
		"without password":  {object: fresh + ready, ref: user("bare"), reason: v1alpha1.ReasonDatabaseUserUnknown, says: "passwordSecret"},
		"that cannot login": {object: fresh + ready, ref: user("group"), reason: v1alpha1.ReasonDatabaseUserUnknown, says: "login"},
		"a dropped role":    {object: fresh + ready, ref: user("gone"), reason: v1alpha1.ReasonDatabaseUserUnknown, says: "manages no role"},
		"an unknown user":   {object: fresh + ready, ref: user("postgres"), reason: v1alpha1.ReasonDatabaseUserUnknown, says: "spec.managed.roles"},
		"another database": {object: fresh + ready, ref: v1alpha1.DatabaseClusterRef{Database: "more"},
			reason: v1alpha1.ReasonDatabaseUserUnknown, says: "cnpgClusterRef.user"},
		"another with user": {object: fresh + ready, ref: v1alpha1.DatabaseClusterRef{Database: "more", User: "pager"},
			dsn: "postgres://pager@pg-rw.oncall.svc:5432/more?sslmode=require", secret: "pager-password"},
	} {
		t.Run(name, func(t *testing.T) {
			c.ref.Name = "pg"
			c.try(t, &v1alpha1.ServerDatabase{CNPGClusterRef: &c.ref})
		})
	}
}

func TestCertificateAuthority(t *testing.T) {
	const root = "&sslrootcert=/etc/terdut-database-ca/ca.crt"
	object := func(spec string) *unstructured.Unstructured {
		return clusterObject(t, "spec: "+spec+"\nstatus: {readyInstances: 1, PostgresClusterStatus: Running}")
	}
	ref := &v1alpha1.DatabaseClusterRef{Name: "pg"}
	own := &v1alpha1.SecretKeyRef{Name: "own", Key: "root"}
	for name, c := range map[string]struct {
		spec    v1alpha1.ServerDatabase
		cluster string
		ca      *SecretKey
		query   string
	}{
		"cnpg":            {v1alpha1.ServerDatabase{CNPGClusterRef: ref}, "{}", nil, "sslmode=require"},
		"cnpg, full":      {v1alpha1.ServerDatabase{CNPGClusterRef: ref, SSLMode: "verify-full"}, "{}", &SecretKey{"pg-ca", "ca.crt"}, "sslmode=verify-full" + root},
		"cnpg, ca":        {v1alpha1.ServerDatabase{CNPGClusterRef: ref, SSLMode: "verify-ca"}, "{}", &SecretKey{"pg-ca", "ca.crt"}, "sslmode=verify-ca" + root},
		"cnpg, its own":   {v1alpha1.ServerDatabase{CNPGClusterRef: ref, SSLMode: "verify-ca"}, "{certificates: {serverCASecret: theirs}}", &SecretKey{"theirs", "ca.crt"}, "sslmode=verify-ca" + root},
		"cnpg, ours":      {v1alpha1.ServerDatabase{CNPGClusterRef: ref, CASecretRef: own}, "{}", &SecretKey{"own", "root"}, "sslmode=require" + root},
		"zalando":         {v1alpha1.ServerDatabase{PostgresClusterRef: ref, SSLMode: "verify-full"}, "{databases: {a: b}}", nil, "sslmode=verify-full"},
		"zalando, ours":   {v1alpha1.ServerDatabase{PostgresClusterRef: ref, CASecretRef: own}, "{databases: {a: b}}", &SecretKey{"own", "root"}, "sslmode=require" + root},
		"zalando, no tls": {v1alpha1.ServerDatabase{PostgresClusterRef: ref, SSLMode: "disable"}, "{databases: {a: b}}", nil, "sslmode=disable"},
	} {
		wired, err := clusterWiring(&c.spec, object(c.cluster))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if (wired.CA == nil) != (c.ca == nil) || c.ca != nil && *wired.CA != *c.ca || !strings.HasSuffix(wired.DSN, "?"+c.query) {
			t.Errorf("%s: %+v %s", name, wired.CA, wired.DSN)
		}
	}
}

func TestClusterError(t *testing.T) {
	key := client.ObjectKey{Namespace: "oncall", Name: "pg"}
	for _, kind := range []clusterKind{zalandoKind, cnpgKind} {
		resource := schema.GroupResource{Group: kind.Group, Resource: "clusters"}
		for reason, err := range map[string]error{
			v1alpha1.ReasonClusterNotFound: apierrors.NewNotFound(resource, "pg"),
			v1alpha1.ReasonCRDNotInstalled: &meta.NoKindMatchError{GroupKind: kind.GroupKind()},
		} {
			ending, ok := outcome.As(clusterError(kind, key, err))
			if !ok || ending.Reason != reason || !strings.Contains(ending.Message, kind.field) || !strings.Contains(ending.Message, kind.resource) {
				t.Errorf("%v: %v, want %s", err, ending, reason)
			}
		}
		gone := clusterError(kind, key, apierrors.NewGenericServerResponse(404, "get", resource, "pg", "404 page not found", 0, true))
		if ending, ok := outcome.As(gone); !ok || ending.Reason != v1alpha1.ReasonCRDNotInstalled || ending.After != crdPause {
			t.Errorf("a kind that is not served any more: %v", gone)
		}
		if _, ok := outcome.As(clusterError(kind, key, apierrors.NewTimeoutError("slow", 1))); ok {
			t.Error("a failing API server proves nothing")
		}
	}
}

// Whatever user and database are called, the DSN leads to the cluster, and the
// driver reads the names that were meant. The driver takes slashes off the
// beginning of a database; no operator makes such a one.
func FuzzClusterDSN(f *testing.F) {
	for _, seed := range [][2]string{
		{"terdut", "terdut_owner"}, {"a/b?host=evil", "u@evil:1/x#"}, {"x", "p@ss/w?rd#1"}, {"größe", "ключ"},
		{"100%", "%41"}, {"a b+c", "a b+c"}, {"..", "."}, {"sslmode=disable", "a&b=c;d"}, {"[::1]", "user:password"},
	} {
		f.Add(seed[0], seed[1], true)
	}
	f.Fuzz(func(t *testing.T, database, user string, ca bool) {
		got := clusterDSN(clusterDatabase{host: "pg.oncall.svc", database: database, user: user}, "require", ca)
		dsn, err := url.Parse(got)
		if err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		query := dsn.Query()
		query.Del("sslrootcert")
		read := [...]string{dsn.Host, dsn.Path, dsn.User.String(), query.Encode(), dsn.Fragment}
		if want := [...]string{"pg.oncall.svc:5432", "/" + database, url.User(user).String(), "sslmode=require", ""}; read != want {
			t.Errorf("%q leads elsewhere: %q", got, read)
		}
		if !ca && nameable(database) && nameable(user) && !strings.HasPrefix(database, "/") {
			drive(t, got, database, user)
		}
	})
}

// nameable tells whether PostgreSQL can have something of that name.
func nameable(name string) bool {
	return name != "" && utf8.ValidString(name) && !strings.Contains(name, "\x00")
}

// drive wants the driver to read the names that were meant.
func drive(t *testing.T, dsn, database, user string) {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatalf("%q: %v", dsn, err)
	}
	read := [...]string{config.Host, config.Database, config.User, config.Password}
	if want := [...]string{"pg.oncall.svc", database, user, ""}; read != want || config.Port != 5432 {
		t.Errorf("%q: the driver reads %q", dsn, read)
	}
}

// A DSN that a person wrote keeps its meaning when the authority is added.
func FuzzWithCA(f *testing.F) {
	for _, seed := range []string{
		"postgres://terdut@db:5432/terdut?sslmode=require", "postgres://db", "postgresql://u%40corp@[fd00::1]:5432/d?", "postgres://db/ter%2Fdut#x",
		"postgres://u@db/d?application_name=a%20b&options=-c%20statement_timeout%3D5s",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		before, err := url.Parse(dsn)
		if err != nil || before.Scheme == "" || before.Opaque != "" || before.Query().Has("sslrootcert") {
			return
		}
		got, err := withCA(dsn)
		if err != nil {
			t.Fatalf("%q: %v", dsn, err)
		}
		after, err := url.Parse(got)
		if err != nil {
			t.Fatalf("%q became %q: %v", dsn, got, err)
		}
		if after.Query().Get("sslrootcert") != caMount+"/"+caFile {
			t.Errorf("%q became %q", dsn, got)
		}
		if meaning(after) != meaning(before) {
			t.Errorf("%q became %q, which means something else", dsn, got)
		}
	})
}

// meaning of a DSN, but for the authority.
func meaning(dsn *url.URL) [4]string {
	query := dsn.Query()
	query.Del("sslrootcert")
	return [...]string{dsn.Host, dsn.Path, dsn.User.String(), query.Encode()}
}
