package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// product is one program that gets an image.
type product struct {
	// short names the archive; name is the image's, without a tag.
	short, name string
	// program is the package to compile, below the root; its last part names the file in the image.
	program     string
	title, docs string
}

// products are the images of this project.
var products = []product{
	{
		short: "operator", name: "git.ryuvia.com/niklas/terdut-operator", program: "cmd/terdut-operator",
		title: "terdut-operator", docs: "Kubernetes operator for terdut-server",
	},
	{
		short: "refserver", name: "git.ryuvia.com/niklas/terdut-refserver", program: "test/refserver/cmd/refserver",
		title: "terdut-refserver", docs: "Stand-in for terdut-server in tests; pages nobody",
	},
}

// choose returns the products of these short names, or all of them.
func choose(names []string) ([]product, error) {
	if len(names) == 0 {
		return products, nil
	}
	var chosen []product
	for _, name := range names {
		at := slices.IndexFunc(products, func(p product) bool { return p.short == name })
		if at < 0 {
			return nil, fmt.Errorf("there is no image %q: say operator or refserver", name)
		}
		chosen = append(chosen, products[at])
	}
	return chosen, nil
}

// made is what images.json says of one image.
type made struct {
	Short   string `json:"short"`
	Image   string `json:"image"`
	Archive string `json:"archive"`
	// Digest is that of the index over all platforms.
	Digest string `json:"digest"`
	// Sizes are the bytes that a node downloads, by platform.
	Sizes map[string]int64 `json:"sizes"`
}

var tag = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)

func checkTag(version string) error {
	if !tag.MatchString(version) {
		return fmt.Errorf("-version %q: an image's tag has letters, digits, and . _ - inside, at most 128", version)
	}
	return nil
}

// build makes the archive of each product and writes images.json.
func build(all []product, root, out, version string, platforms []v1.Platform) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("make the directory for archives: %w", err)
	}
	base, err := baseLayer()
	if err != nil {
		return err
	}
	var results []made
	for _, p := range all {
		begin := time.Now()
		result, buildErr := p.build(base, root, out, version, platforms)
		if buildErr != nil {
			return buildErr
		}
		fmt.Printf("%s\n  %s in %.0f s\n", result.Image, result.Digest, time.Since(begin).Seconds())
		results = append(results, result)
	}
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return fmt.Errorf("write images.json: %w", err)
	}
	if err = os.WriteFile(filepath.Join(out, "images.json"), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write images.json: %w", err)
	}
	return nil
}

func (p product) build(base v1.Layer, root, out, version string, platforms []v1.Platform) (made, error) {
	result := made{Short: p.short, Image: p.name + ":" + version, Archive: p.short + ".tar", Sizes: map[string]int64{}}
	images := map[string]v1.Image{}
	for _, platform := range platforms {
		image, err := p.image(base, root, version, platform)
		if err != nil {
			return result, fmt.Errorf("make image %s for %s: %w", result.Image, platform, err)
		}
		if result.Sizes[platform.String()], err = size(image); err != nil {
			return result, err
		}
		images[platform.String()] = image
	}
	digest, err := writeArchive(filepath.Join(out, result.Archive), result.Image, images)
	result.Digest = digest.String()
	return result, err
}

func (p product) image(base v1.Layer, root, version string, platform v1.Platform) (v1.Image, error) {
	dir, err := os.MkdirTemp("", "image-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left of it is in the way of nobody
	program := filepath.Join(dir, "program")
	if err = compile(root, p.program, program, platform, os.Stderr); err != nil {
		return nil, err
	}
	inside := "/" + filepath.Base(p.program)
	top, err := newLayer([]entry{{path: inside, mode: fs.FileMode(0o755), from: program}}, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	return newImage(settings{
		platform: platform, user: unprivileged, entrypoint: []string{inside},
		labels: map[string]string{
			"org.opencontainers.image.title":       p.title,
			"org.opencontainers.image.description": p.docs,
			"org.opencontainers.image.version":     version,
			"org.opencontainers.image.source":      "https://git.ryuvia.com/niklas/terdut-operator",
			"org.opencontainers.image.licenses":    "Apache-2.0",
		},
	}, base, top)
}

// compile builds a static program. Neither paths of this machine nor the state of its git repository get into it.
func compile(root, program, to string, platform v1.Platform, log io.Writer) error {
	absolute, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", absolute, "./"+program)
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, log, log
	// GOFLAGS of whoever calls could change the program; of the workspace nothing is wanted either.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+platform.OS, "GOARCH="+platform.Architecture,
		"GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=-mod=readonly", "GOWORK=off")
	if err = cmd.Run(); err != nil {
		return fmt.Errorf("compile %s: %w", program, err)
	}
	return nil
}

// size is what a node downloads: the compressed layers, the configuration and the manifest.
func size(image v1.Image) (int64, error) {
	manifest, err := image.Manifest()
	if err != nil {
		return 0, fmt.Errorf("read the manifest: %w", err)
	}
	total, err := image.Size()
	if err != nil {
		return 0, fmt.Errorf("read the manifest: %w", err)
	}
	total += manifest.Config.Size
	for _, layer := range manifest.Layers {
		total += layer.Size
	}
	return total, nil
}
