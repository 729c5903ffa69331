package server

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
)

const (
	cnpgField    = "spec.database.cnpgClusterRef"
	cnpgResource = "clusters.postgresql.cnpg.io"
	// cnpgDatabase is the database of a cluster that names none.
	cnpgDatabase = "app"
)

// readCNPG reads a cluster object of CloudNativePG. Its Service, its Secrets and
// its certificate authority bear the cluster's name with an ending, where the
// object does not name others.
func readCNPG(cluster *unstructured.Unstructured, ref *v1alpha1.DatabaseClusterRef) (clusterDatabase, error) {
	name := cluster.GetName()
	ready, _, err := unstructured.NestedInt64(cluster.Object, "status", "readyInstances")
	if err != nil || ready < 1 {
		phase := cmp.Or(text(cluster.Object, "status", "phase"), "unknown")
		return clusterDatabase{}, outcome.Waiting(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonClusterNotReady,
			"cluster %q has no ready instance, its phase is %q: see kubectl describe %s %s", name, phase, cnpgResource, name)
	}
	app := cnpgApplication(cluster)
	found := clusterDatabase{
		host:     name + "-rw." + cluster.GetNamespace() + ".svc",
		database: cmp.Or(ref.Database, app.database),
		user:     ref.User,
		ca:       &SecretKey{Secret: cnpgCA(cluster), Key: defaultCAKey},
	}
	if found.database == "" {
		return clusterDatabase{}, outcome.Waiting(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDatabaseAmbiguous,
			"cluster %q was not bootstrapped with a database of its own: name one in %s.database and its user in %s.user", name, cnpgField, cnpgField)
	}
	if found.user == "" && found.database == app.database {
		found.user = app.owner
	}
	if found.user == "" {
		return clusterDatabase{}, outcome.Waiting(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDatabaseUserUnknown,
			"database %q is not the one that cluster %q was bootstrapped with, and its owner does not stand there: name a user in %s.user", found.database, name, cnpgField)
	}
	found.password = SecretKey{Secret: app.secret, Key: defaultPasswordKey}
	if found.user != app.owner {
		if found.password.Secret, err = cnpgRole(cluster, found.user, app.owner); err != nil {
			return clusterDatabase{}, err
		}
	}
	return found, nil
}

// application is the database that a cluster was bootstrapped with.
type application struct{ database, owner, secret string }

// cnpgApplication reads it. CloudNativePG writes its defaults into the object; a
// cluster that was recovered, or copied as a whole, may have none.
func cnpgApplication(cluster *unstructured.Unstructured) application {
	app := application{secret: cluster.GetName() + "-app"}
	fresh := true
	for _, method := range []string{"initdb", "recovery", "pg_basebackup"} {
		how, found, err := unstructured.NestedMap(cluster.Object, "spec", "bootstrap", method)
		if err != nil || !found {
			continue
		}
		_, imported, importErr := unstructured.NestedMap(how, "import")
		fresh = method == "initdb" && !imported && importErr == nil
		app.database, app.owner = text(how, "database"), text(how, "owner")
		app.secret = cmp.Or(text(how, "secret", "name"), app.secret)
	}
	if app.database == "" && (fresh || app.owner != "") {
		app.database = cnpgDatabase
	}
	app.owner = cmp.Or(app.owner, app.database)
	return app
}

// cnpgCA is the Secret of the authority that signed the certificates of a
// cluster.
func cnpgCA(cluster *unstructured.Unstructured) string {
	return cmp.Or(
		text(cluster.Object, "spec", "certificates", "serverCASecret"),
		text(cluster.Object, "status", "certificates", "serverCASecret"),
		cluster.GetName()+"-ca")
}

// cnpgRole is the Secret with the password of a role that the cluster manages.
func cnpgRole(cluster *unstructured.Unstructured, user, owner string) (string, error) {
	name := cluster.GetName()
	roles, _, err := unstructured.NestedSlice(cluster.Object, "spec", "managed", "roles")
	if err != nil {
		roles = nil
	}
	for _, entry := range roles {
		role, ok := entry.(map[string]any)
		if !ok || text(role, "name") != user || text(role, "ensure") == "absent" {
			continue
		}
		login, _, loginErr := unstructured.NestedBool(role, "login")
		secret := text(role, "passwordSecret", "name")
		switch {
		case loginErr != nil || !login:
			return "", outcome.Waiting(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDatabaseUserUnknown,
				"role %q of cluster %q may not log in: set login there, or name another one in %s.user", user, name, cnpgField)
		case secret == "":
			return "", outcome.Waiting(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDatabaseUserUnknown,
				"role %q of cluster %q has no password: name a Secret in its passwordSecret, or name another user in %s.user", user, name, cnpgField)
		}
		return secret, nil
	}
	hint := ""
	if owner != "" {
		hint = ", or leave it empty for the owner"
	}
	return "", outcome.Waiting(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDatabaseUserUnknown,
		"cluster %q manages no role %q: add it, with login and passwordSecret, to its spec.managed.roles, or name another one in %s.user%s", name, user, cnpgField, hint)
}
