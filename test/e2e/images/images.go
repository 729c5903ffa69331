// Package images makes the container images that the end-to-end suite and `make images` need, without a container engine:
// those of this project, and for the suite a real PostgreSQL and a real Alertmanager. The work is done by hack/images, a
// module of its own.
package images

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/source"
)

// The images of this project.
const (
	Operator  = "operator"
	RefServer = "refserver"
)

// Image is an archive with an image in it.
type Image struct {
	// Name is repository:tag.
	Name string `json:"image"`
	// Archive is the path of an OCI layout as a tar.
	Archive string `json:"archive"`
	// Digest is the index's, sha256:...
	Digest string `json:"digest"`
	// Short is the name by which a caller asked for it.
	Short string `json:"short"`
	// Sizes are the bytes that a node downloads, by platform such as linux/amd64.
	Sizes map[string]int64 `json:"sizes"`
}

// Repository is the name without the tag.
func (i Image) Repository() string { return i.Name[:strings.LastIndex(i.Name, ":")] }

// Tag is what follows the repository.
func (i Image) Tag() string { return i.Name[strings.LastIndex(i.Name, ":")+1:] }

// Options say what to build.
type Options struct {
	// Dir gets the archives. It is made.
	Dir string
	// Version is the tag.
	Version string
	// Source is the source tree; empty means the one around the working directory.
	Source string
	// Platforms such as linux/amd64; empty means linux/amd64 and linux/arm64.
	Platforms []string
	// Only are the images to build; empty means all.
	Only []string
	// Log gets what is done.
	Log io.Writer
}

// Build makes images of this project, by name. The tool that makes them is always that of the source tree around the working
// directory.
func Build(ctx context.Context, o Options) (map[string]Image, error) {
	root, err := source.Root()
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the directory for images: %w", err)
	}
	from := o.Source
	if from == "" {
		from = root
	}
	args := []string{"build", "-root", from, "-out", dir, "-version", o.Version}
	if len(o.Platforms) > 0 {
		args = append(args, "-platforms", strings.Join(o.Platforms, ","))
	}
	if err = tool(ctx, root, o.Log, append(args, o.Only...)...); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(filepath.Join(dir, "images.json"))
	if err != nil {
		return nil, fmt.Errorf("read what was built: %w", err)
	}
	var list []Image
	if err = json.Unmarshal(content, &list); err != nil {
		return nil, fmt.Errorf("read what was built: %w", err)
	}
	built := map[string]Image{}
	for _, image := range list {
		image.Archive = filepath.Join(dir, image.Archive)
		built[image.Short] = image
	}
	return built, nil
}

// tool runs hack/images.
func tool(ctx context.Context, root string, log io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"-C", filepath.Join(root, "hack", "images"), "run", "."}, args...)...)
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
	var complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = log, io.MultiWriter(log, &complaint)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("make images: %w: %s", err, source.LastLine(complaint.String(), nil))
	}
	return nil
}

// Local is the platform of the node that runs on this machine.
func Local() string { return "linux/" + runtime.GOARCH }
