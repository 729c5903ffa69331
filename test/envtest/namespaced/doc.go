// Package namespaced proves the operator on a real API server where it may look
// at some namespaces only: as a user who is bound to a Role in each of them and
// to no ClusterRole.
package namespaced
