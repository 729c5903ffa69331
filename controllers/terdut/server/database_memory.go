package server

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// databaseMemory is what the process knows of the databases of servers. It is
// safe for concurrent use.
type databaseMemory struct{ perServer[rememberedDatabase] }

type rememberedDatabase struct {
	// secrets are those that the last pass needed, there or not. The spec does
	// not name the ones that are found by way of a cluster.
	secrets []string
	// hmacKey is the key of the HMACs; nil when it is not known yet.
	hmacKey []byte
}

// uses notes which Secrets a server needs now.
func (m *databaseMemory) uses(server *v1alpha1.TerdutServer, keys ...*SecretKey) {
	m.of(server, func(e *rememberedDatabase) {
		e.secrets = nil
		for _, key := range keys {
			if key != nil {
				e.secrets = append(e.secrets, key.Secret)
			}
		}
	})
}

// users are the servers that need a Secret.
func (m *databaseMemory) users(secret types.NamespacedName) (found []types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, entry := range m.servers {
		if entry.name.Namespace == secret.Namespace && slices.Contains(entry.is.secrets, secret.Name) {
			found = append(found, entry.name)
		}
	}
	return found
}

func (m *databaseMemory) keep(server *v1alpha1.TerdutServer, key []byte) {
	m.of(server, func(e *rememberedDatabase) { e.hmacKey = slices.Clone(key) })
}

func (m *databaseMemory) key(server *v1alpha1.TerdutServer) (key []byte) {
	m.of(server, func(e *rememberedDatabase) { key = e.hmacKey })
	return key
}
