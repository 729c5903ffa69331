// Package e2e plays the whole life of an installation on a real cluster: the operator as pods from its own image and
// chart, servers as pods against a real PostgreSQL, a real Alertmanager that knows nothing but the generated Secret,
// upgrades, rotations, restarts of everything, a take-over from Helm, and removal until nothing is left. Operator pods are
// killed at random moments meanwhile. After each step both sides are compared: Kubernetes, and every server's own API.
//
//	make e2e                              on a node from source (root on Linux), else on kind
//	E2E_KUBECONFIG=... make e2e           on a cluster of yours, which must have none of it
//	E2E_SERVER_IMAGE=repo:tag make e2e    with another image than the reference server's
//
// docs/e2e.md has all variables and what each step proves.
package e2e
