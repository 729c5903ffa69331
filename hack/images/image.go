package main

import (
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// settings are what an image says about its process.
type settings struct {
	platform   v1.Platform
	user       string
	entrypoint []string
	env        []string
	labels     map[string]string
}

// newImage puts layers on nothing.
func newImage(s settings, layers ...v1.Layer) (v1.Image, error) {
	image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), layers...)
	if err != nil {
		return nil, fmt.Errorf("add its layers: %w", err)
	}
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read its configuration: %w", err)
	}
	config = config.DeepCopy()
	config.Created = v1.Time{Time: epoch}
	config.OS, config.Architecture, config.Variant = s.platform.OS, s.platform.Architecture, s.platform.Variant
	config.Config = v1.Config{
		User: s.user, Entrypoint: s.entrypoint, WorkingDir: "/", Labels: s.labels,
		Env: append([]string{"PATH=/usr/local/bin:/usr/bin:/bin"}, s.env...),
	}
	for i := range config.History {
		config.History[i] = v1.History{Created: v1.Time{Time: epoch}}
	}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, fmt.Errorf("write its configuration: %w", err)
	}
	return image, nil
}
