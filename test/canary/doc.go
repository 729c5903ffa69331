// Package canary looks for values that must stay secret in everything that
// people read: as they are, and as they look in base64 (wherever they begin in
// it), in a URL, in hexadecimal and in JSON.
package canary
