package images

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/source"
)

const alertmanagerPath = "github.com/prometheus/alertmanager"

// Alertmanager makes an image of a real Alertmanager, built from source through Go modules and kept in the user's cache
// directory. The archive goes into dir.
func Alertmanager(ctx context.Context, dir string, log io.Writer) (Image, error) {
	root, err := source.Root()
	if err != nil {
		return Image{}, err
	}
	module := filepath.Join(root, "test", "e2e", "images", "alertmanager")
	goMod := filepath.Join(module, "go.mod")
	version, err := source.Pinned(goMod, alertmanagerPath)
	if err != nil {
		return Image{}, err
	}
	digest, err := source.Digest(goMod, filepath.Join(module, "go.sum"))
	if err != nil {
		return Image{}, err
	}
	cache, err := source.CacheDir("e2e")
	if err != nil {
		return Image{}, err
	}
	program := source.Program{
		Name: "alertmanager", Version: version, Dir: module, Package: alertmanagerPath + "/cmd/alertmanager",
	}
	found := map[string]string{}
	key := fmt.Sprintf("alertmanager-%s_%s-%s_%s", version, runtime.GOOS, runtime.GOARCH, digest)
	if err = source.Ensure(ctx, cache, key, []source.Program{program}, found, log, nil); err != nil {
		return Image{}, err
	}
	image := Image{
		Short: "alertmanager", Name: "terdut-e2e.local/alertmanager:" + version, Archive: filepath.Join(dir, "alertmanager.tar"),
	}
	return image, tool(ctx, root, log, "pack", "-out", image.Archive, "-name", image.Name, "-platform", Local(),
		"-entrypoint", "/alertmanager", "-add", found["alertmanager"]+"=/alertmanager")
}
