package node

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/rand"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/source"
)

// Image is what [WriteImage] writes.
type Image struct {
	// Name is the whole name with registry and tag, as in example.com/pause:1.
	Name string
	// Files are paths on this machine by their absolute paths in the image. They are executable there.
	Files map[string]string
	// Entrypoint is the command.
	Entrypoint []string
	// User is the user that the command runs as, as in 65532:65532. Empty is root.
	User string
}

// WriteImage writes an image with one layer to path, as a tar in the form that [Node.LoadImage] reads and docker save
// writes. The programs in it must be static: there is nothing else in the image.
func WriteImage(path string, image Image) error {
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	var targets []string
	for target := range image.Files {
		targets = append(targets, target)
	}
	slices.Sort(targets)
	for _, target := range targets {
		content, err := os.ReadFile(image.Files[target])
		if err != nil {
			return fmt.Errorf("write image %s: %w", image.Name, err)
		}
		if err = writeEntry(w, strings.TrimPrefix(target, "/"), 0o755, content); err != nil {
			return fmt.Errorf("write image %s: %w", image.Name, err)
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("write image %s: %w", image.Name, err)
	}
	digest := fmt.Sprintf("%x", sha256.Sum256(layer.Bytes()))
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Entrypoint": image.Entrypoint, "User": image.User},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + digest}},
	})
	if err != nil {
		return fmt.Errorf("write image %s: %w", image.Name, err)
	}
	configName := fmt.Sprintf("%x.json", sha256.Sum256(config))
	manifest, err := json.Marshal([]map[string]any{{
		"Config": configName, "RepoTags": []string{image.Name}, "Layers": []string{digest + "/layer.tar"},
	}})
	if err != nil {
		return fmt.Errorf("write image %s: %w", image.Name, err)
	}
	if err = writeArchive(path, []archived{
		{configName, config}, {digest + "/layer.tar", layer.Bytes()}, {"manifest.json", manifest},
	}); err != nil {
		return fmt.Errorf("write image %s: %w", image.Name, err)
	}
	return nil
}

type archived struct {
	name    string
	content []byte
}

func writeArchive(path string, files []archived) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := tar.NewWriter(file)
	for _, entry := range files {
		if err = writeEntry(w, entry.name, 0o644, entry.content); err != nil {
			return err
		}
	}
	return w.Close()
}

func writeEntry(w *tar.Writer, name string, mode int64, content []byte) error {
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(content))}); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}

// LoadImage gives the images of a tar to the node, under the names that stand in it: an OCI image layout, or what docker
// save writes. A pod gets them when its imagePullPolicy is Never or IfNotPresent; there is nowhere to pull from.
func (n *Node) LoadImage(ctx context.Context, path string) error {
	// The node sees its own directory only.
	name := "image-" + rand.String(8) + ".tar"
	if err := source.Copy(path, n.dir, name); err != nil {
		return fmt.Errorf("load image %s: %w", path, err)
	}
	defer func() { _ = os.Remove(filepath.Join(n.dir, name)) }() // Stop removes it in any case
	cmd := n.space.Command(ctx, ctrBinary, "--address="+containerdSocket, "--namespace=k8s.io",
		"images", "import", "--local", "--platform=linux/"+runtime.GOARCH, "/node/"+name)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("load image %s: %s", path, source.LastLine(string(output), err))
	}
	return nil
}
