// Package rbac compares the rights that the operator is granted with those that
// it uses. Each suite on a real API server leaves in .rbac/<suite>.json, at the
// root of the source tree, what the API server's audit log says that the
// operator has asked for; when all suites have run, `go run
// ./test/rbac/cmd/rbac` names every granted right that none of them used.
package rbac
