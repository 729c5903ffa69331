// Package server tries the TerdutServer controller on a real API server with
// the garbage collector. The reference server stands behind every TerdutServer,
// in this process; the tests write the status of Deployments in place of a
// kubelet. The operator runs as a user that has the rights of the controller's
// markers and no others.
package server
