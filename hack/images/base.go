package main

import (
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"io/fs"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// unprivileged are the user and the group of a process that has no rights on the node's files.
const unprivileged = "65532:65532"

// baseLayer is what a static program needs of a system: certificate roots, and names for its user and group. It is the
// same layer in every image.
//
// The roots are Mozilla's, as the Go project publishes them in a module: go.sum pins them, so that they are the same on
// every machine, and no package of this machine's distribution gets into an image. They are a file, and not compiled into
// the programs, so that an installation with a CA of its own can mount another file in its place.
func baseLayer() (v1.Layer, error) {
	return newLayer([]entry{
		{path: "/etc/passwd", mode: 0o644, content: []byte(
			"root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")},
		{path: "/etc/group", mode: 0o644, content: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{path: "/etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: roots()},
		{path: "/tmp", mode: fs.ModeDir | fs.ModeSticky | 0o777},
	}, gzip.BestCompression)
}

// roots are the certificates in PEM. A root that is trusted for a part of its certificates only is left out: a file can
// not say that.
func roots() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return out.Bytes()
}
