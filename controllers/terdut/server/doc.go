// Package server installs a terdut-server for each TerdutServer: Deployment and
// Service, the wiring of its database, and the operator's own identity on it.
//
// A pass reads everything first (read.go, database.go), renders the children by
// a pure function (render.go and its files), lets the apply engine converge
// them, sees to the operator's key (bootstrap.go), and reports (observe.go,
// report.go). No Secret value takes part in rendering: a live read proves that
// the key is there, and the pod reads it by reference.
//
// The key that a bootstrap hands out exists once. From the moment it is asked
// for until it stands in a Secret, memory.go is the only place that has it, and
// the process does not end before it was written.
package server
