package main

import (
	"archive/tar"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Annotations by which a loader names what it has read: containerd takes the first, others the second.
const (
	annotationName = "io.containerd.image.name"
	annotationRef  = "org.opencontainers.image.ref.name"
)

// writeArchive writes an OCI image layout as a tar: one index with an image for each platform, named name. It returns the
// digest of the index.
func writeArchive(file, name string, images map[string]v1.Image) (v1.Hash, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, key := range slices.Sorted(maps.Keys(images)) {
		platform, err := v1.ParsePlatform(key)
		if err != nil {
			return v1.Hash{}, fmt.Errorf("platform %q: %w", key, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: images[key], Descriptor: v1.Descriptor{Platform: platform},
		})
	}
	digest, err := index.Digest()
	if err != nil {
		return digest, fmt.Errorf("make the index of %s: %w", name, err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(file), "layout-")
	if err != nil {
		return digest, fmt.Errorf("write %s: %w", file, err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left of it is in the way of nobody
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return digest, fmt.Errorf("write the layout of %s: %w", name, err)
	}
	names := map[string]string{annotationName: name, annotationRef: name}
	if err = path.AppendIndex(index, layout.WithAnnotations(names)); err != nil {
		return digest, fmt.Errorf("write the layout of %s: %w", name, err)
	}
	return digest, archiveDirectory(file, dir)
}

// archiveDirectory writes the files below a directory as a tar whose bytes depend on nothing else. The file is replaced in
// one step.
func archiveDirectory(file, dir string) error {
	out, err := os.CreateTemp(filepath.Dir(file), "archive-")
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	w := tar.NewWriter(out)
	err = filepath.WalkDir(dir, func(name string, found fs.DirEntry, walkErr error) error {
		if walkErr != nil || found.IsDir() {
			return walkErr
		}
		relative, relErr := filepath.Rel(dir, name)
		if relErr != nil {
			return relErr
		}
		return entry{path: "/" + filepath.ToSlash(relative), mode: 0o644, from: name}.write(w)
	})
	if err == nil {
		err = w.Close()
	}
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Chmod(out.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(out.Name(), file)
	}
	if err != nil {
		_ = os.Remove(out.Name())
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
