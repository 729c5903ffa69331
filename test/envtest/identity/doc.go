// Package identity tries the operator's own identity on a server on a real
// API server: how it gets a key, keeps it, exchanges it and lets it go, with
// every interruption in between. The reference server answers over HTTP.
package identity
