// Package openapi holds the description of terdut-server's REST API, the one truth about the wire: the client
// and the reference server are generated from it.
package openapi

import _ "embed"

// Document is terdut.yaml.
//
//go:embed terdut.yaml
var Document []byte
