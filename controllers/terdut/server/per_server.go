package server

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// perServer remembers a T of each server, by its UID. The zero value remembers
// nothing; it is safe for concurrent use.
type perServer[T any] struct {
	mu      sync.Mutex
	servers map[types.UID]*knownServer[T]
}

type knownServer[T any] struct {
	name types.NamespacedName
	is   T
}

// of calls f with what is remembered of a server. f must not call perServer.
func (m *perServer[T]) of(server *v1alpha1.TerdutServer, f func(*T)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.servers == nil {
		m.servers = map[types.UID]*knownServer[T]{}
	}
	known, found := m.servers[server.UID]
	if !found {
		known = &knownServer[T]{name: types.NamespacedName{Namespace: server.Namespace, Name: server.Name}}
		m.servers[server.UID] = known
	}
	f(&known.is)
}

// forget drops all servers of that name, since there is none any more, and
// returns their UIDs.
func (m *perServer[T]) forget(name types.NamespacedName) (gone []types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for uid, known := range m.servers {
		if known.name == name {
			delete(m.servers, uid)
			gone = append(gone, uid)
		}
	}
	return gone
}
