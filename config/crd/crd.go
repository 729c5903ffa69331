// Package crd holds the custom resource definitions for programs. The files
// beside this one are generated from api/.
package crd

import (
	"embed"
	"fmt"
	"io/fs"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// VersionAnnotation stands on each definition and is the version of the release
// that it belongs to, such as v0.1.0.
const VersionAnnotation = "terdut.ryuvia.com/version"

//go:embed terdut.ryuvia.com_*.yaml
var files embed.FS

// All are the definitions of this release, by name, made afresh for each call.
// They are as written in the files, without defaults, so that they can be
// applied.
func All() ([]*unstructured.Unstructured, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list the custom resource definitions: %w", err)
	}
	all := make([]*unstructured.Unstructured, 0, len(names))
	for _, name := range names {
		raw, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read a custom resource definition: %w", err)
		}
		definition := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(raw, &definition.Object); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		all = append(all, definition)
	}
	return all, nil
}
