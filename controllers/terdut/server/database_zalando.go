package server

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
)

const (
	zalandoField    = "spec.database.postgresClusterRef"
	zalandoResource = "postgresql.acid.zalan.do"
	// zalandoSecrets ends the name of every credentials Secret of that
	// operator: {username}.{cluster}.credentials.{kind}.{group}.
	zalandoSecrets = ".credentials.postgresql.acid.zalan.do"
)

// servingStates are those of a cluster that has a database to connect to. The
// failed ones failed to change, not to serve. The others are Creating,
// CreateFailed, Invalid, and none at all.
var servingStates = []string{"Running", "Updating", "UpdateFailed", "SyncFailed"}

// readZalando reads a cluster object of the Zalando postgres-operator.
func readZalando(cluster *unstructured.Unstructured, ref *v1alpha1.DatabaseClusterRef) (clusterDatabase, error) {
	name := cluster.GetName()
	state := text(cluster.Object, "status", "PostgresClusterStatus")
	if !slices.Contains(servingStates, state) {
		if state == "" {
			state = "unknown"
		}
		return clusterDatabase{}, outcome.Waiting(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonClusterNotReady,
			"postgresql %q is not ready, its status is %s: see kubectl describe %s %s", name, state, zalandoResource, name)
	}
	declared := zalandoDatabases(cluster)
	database, err := zalandoDatabase(name, declared, ref.Database)
	if err != nil {
		return clusterDatabase{}, err
	}
	user, err := zalandoUser(cluster, declared, database, ref.User)
	if err != nil {
		return clusterDatabase{}, err
	}
	return clusterDatabase{
		host:     name + "." + cluster.GetNamespace() + ".svc",
		database: database,
		user:     user,
		password: SecretKey{Secret: zalandoSecretName(user, name), Key: defaultPasswordKey},
	}, nil
}

// zalandoDatabases are the databases that a cluster declares, with the user
// that is meant when none is named: the owner. That of a prepared database
// cannot log in, its default user can; where there is none it is empty.
func zalandoDatabases(cluster *unstructured.Unstructured) map[string]string {
	databases, _, err := unstructured.NestedStringMap(cluster.Object, "spec", "databases")
	if err != nil || databases == nil {
		databases = map[string]string{}
	}
	prepared, _, err := unstructured.NestedMap(cluster.Object, "spec", "preparedDatabases")
	if err != nil {
		return databases
	}
	for name := range prepared {
		if _, twice := databases[name]; twice {
			continue
		}
		databases[name] = ""
		if withUsers, _, readErr := unstructured.NestedBool(prepared, name, "defaultUsers"); readErr == nil && withUsers {
			databases[name] = name + "_owner_user"
		}
	}
	return databases
}

// zalandoDatabase is the database that is meant.
func zalandoDatabase(cluster string, declared map[string]string, want string) (string, error) {
	_, found := declared[want]
	switch {
	case want != "" && found:
		return want, nil
	case want != "" && len(declared) > 0:
		return "", outcome.Waiting(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDatabaseNotDeclared,
			"postgresql %q declares no database %q: add it to its spec.databases, or name one of these in %s.database: %s", cluster, want, zalandoField, choices(declared))
	case want != "":
		return "", outcome.Waiting(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDatabaseNotDeclared,
			"postgresql %q declares no database %q: add it, with its owner, to its spec.databases", cluster, want)
	case len(declared) == 1:
		return slices.Collect(maps.Keys(declared))[0], nil
	case len(declared) == 0:
		return "", outcome.Waiting(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDatabaseAmbiguous,
			"postgresql %q declares no database: add one, with its owner, to its spec.databases, or set spec.database.dsn here", cluster)
	}
	return "", outcome.Waiting(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDatabaseAmbiguous,
		"postgresql %q declares %d databases: name the one that is meant in %s.database: %s", cluster, len(declared), zalandoField, choices(declared))
}

// zalandoUser is the user that is meant. That operator makes a Secret for each
// user that it knows, and for no other.
func zalandoUser(cluster *unstructured.Unstructured, declared map[string]string, database, want string) (string, error) {
	name := cluster.GetName()
	if want == "" {
		if owner := declared[database]; owner != "" {
			return owner, nil
		}
		return "", outcome.Waiting(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDatabaseUserUnknown,
			"database %q of postgresql %q has no user that can log in: set defaultUsers there, or name a user of its spec.users in %s.user", database, name, zalandoField)
	}
	known := zalandoUsers(cluster, declared)
	switch flags, found := known[want]; {
	case !found:
		return "", outcome.Waiting(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDatabaseUserUnknown,
			"postgresql %q declares no user %q: add it to its spec.users, or name one of these in %s.user: %s", name, want, zalandoField, choices(names(known)))
	case slices.ContainsFunc(flags, func(flag string) bool { return strings.EqualFold(flag, "nologin") }):
		return "", outcome.Waiting(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDatabaseUserUnknown,
			"user %q of postgresql %q may not log in: remove nologin from its spec.users, or name another one in %s.user", want, name, zalandoField)
	}
	return want, nil
}

// zalandoUsers are the users that a cluster declares, with their flags.
func zalandoUsers(cluster *unstructured.Unstructured, declared map[string]string) map[string][]string {
	known := map[string][]string{}
	for database, owner := range declared {
		if owner == "" {
			continue
		}
		known[owner] = nil
		if owner == database+"_owner_user" {
			known[database+"_writer_user"], known[database+"_reader_user"] = nil, nil
		}
	}
	users, _, err := unstructured.NestedMap(cluster.Object, "spec", "users")
	if err != nil {
		return known
	}
	for user := range users {
		flags, _, flagErr := unstructured.NestedStringSlice(users, user)
		if flagErr != nil {
			flags = nil
		}
		known[user] = flags
	}
	return known
}

// names are the keys of a map, for choices.
func names[V any](of map[string]V) map[string]string {
	out := make(map[string]string, len(of))
	for name := range of {
		out[name] = ""
	}
	return out
}

// zalandoSecretName is the Secret that the postgres-operator makes for a user
// of a cluster. Names of Secrets cannot hold the underscore of a user name.
func zalandoSecretName(user, cluster string) string {
	return strings.ReplaceAll(user, "_", "-") + "." + cluster + zalandoSecrets
}
