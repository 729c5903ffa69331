package server

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// databaseMemory is what the process knows of the databases of servers. It is
// safe for concurrent use.
type databaseMemory struct {
	mu      sync.Mutex
	servers map[types.UID]*rememberedDatabase
}

type rememberedDatabase struct {
	name types.NamespacedName
	// secrets are those that the last pass needed, there or not. The spec does
	// not name the ones that are found by way of a cluster.
	secrets []string
	// hmacKey is the key of the HMACs; nil when it is not known yet.
	hmacKey []byte
}

func (m *databaseMemory) of(server *v1alpha1.TerdutServer, f func(*rememberedDatabase)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.servers == nil {
		m.servers = map[types.UID]*rememberedDatabase{}
	}
	entry, found := m.servers[server.UID]
	if !found {
		entry = &rememberedDatabase{name: types.NamespacedName{Namespace: server.Namespace, Name: server.Name}}
		m.servers[server.UID] = entry
	}
	f(entry)
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
		if entry.name.Namespace == secret.Namespace && slices.Contains(entry.secrets, secret.Name) {
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

// forget drops all servers of that name.
func (m *databaseMemory) forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for uid, entry := range m.servers {
		if entry.name == name {
			delete(m.servers, uid)
		}
	}
}
