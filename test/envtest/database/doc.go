// Package database proves how a TerdutServer gets its database, on a real API
// server: with the resources of PostgreSQL operators coming and going, with
// pods that run the reference server, and with a real PostgreSQL where there is
// one.
package database
