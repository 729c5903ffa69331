// Package kinds proves the kinds that live on a terdut-server on a real API
// server, with the operator running and a reference server behind each
// TerdutServer.
package kinds
