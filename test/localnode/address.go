package localnode

import (
	"fmt"
	"maps"
	"net"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// freeAddress is a loopback address with a port that is free now. Should somebody else take it before the process does,
// the process crashes and its next start gets another one.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	address := listener.Addr().String()
	if err = listener.Close(); err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return address, nil
}

// environ is the whole environment of a process: what its specification resolves to, ExtraEnv where that has no such name,
// and the address to listen on, which an init container does not need.
func (n *Node) environ(env []corev1.EnvVar, init bool, address string) []string {
	values := maps.Clone(n.options.ExtraEnv)
	if values == nil {
		values = map[string]string{}
	}
	for _, variable := range env {
		values[variable.Name] = variable.Value
	}
	if !init {
		values[n.options.ListenEnv] = address
	}
	// Not nil even when it is empty: nil would pass on the environment of this process.
	lines := make([]string, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		lines = append(lines, name+"="+values[name])
	}
	return lines
}
