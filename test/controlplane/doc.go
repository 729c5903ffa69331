// Package controlplane runs a real Kubernetes control plane for the tests: etcd, kube-apiserver and
// kube-controller-manager, without a node.
//
// envtest runs etcd and kube-apiserver and provisions users; what is added here is where the binaries come from (see
// [Binaries]: a machine with Go and a module proxy is enough), the controller manager, without which nothing owned is
// ever collected and no namespace ever ends, and a keeper, so that nothing is left behind when the test process is killed.
//
// The API server enforces RBAC and runs the admission plugin OwnerReferencesPermissionEnforcement, so that a missing
// right shows in a test and not in somebody's cluster.
package controlplane
