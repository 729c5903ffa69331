package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

var both = []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}}

// hello writes a small module and returns its directory.
func hello(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":            "module example.org/hello\n\ngo 1.26.0\n",
		"cmd/hello/main.go": "package main\n\nfunc main() { println(\"hello\") }\n",
	} {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func archiveOf(t *testing.T, root, version string) (string, made) {
	t.Helper()
	out := t.TempDir()
	p := product{short: "hello", name: "example.org/hello", program: "cmd/hello"}
	if err := build([]product{p}, root, out, version, both); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(out, "images.json"))
	if err != nil {
		t.Fatal(err)
	}
	var results []made
	if err = json.Unmarshal(content, &results); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(out, results[0].Archive), results[0]
}

// TestReproducible builds the same source in two places, into two places.
func TestReproducible(t *testing.T) {
	oneFile, one := archiveOf(t, hello(t), "v1")
	twoFile, two := archiveOf(t, hello(t), "v1")
	if one.Digest != two.Digest {
		t.Errorf("the same source gives %s and %s", one.Digest, two.Digest)
	}
	oneBytes, oneErr := os.ReadFile(oneFile)
	twoBytes, twoErr := os.ReadFile(twoFile)
	if err := errors.Join(oneErr, twoErr); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(oneBytes, twoBytes) {
		t.Error("the archives of the same source differ")
	}
	if _, other := archiveOf(t, hello(t), "v2"); other.Digest == one.Digest {
		t.Error("two versions have one digest")
	}
}

// blobs are the files of an archive by name.
func blobs(t *testing.T, file string) map[string][]byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(content)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if found[header.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func parse[T any](t *testing.T, content []byte) T {
	t.Helper()
	var out T
	if err := json.Unmarshal(content, &out); err != nil {
		t.Fatalf("%v: %s", err, content)
	}
	return out
}

// TestArchive reads an archive as a container runtime does.
func TestArchive(t *testing.T) {
	file, result := archiveOf(t, hello(t), "v1")
	found := blobs(t, file)
	blob := func(h v1.Hash) []byte { return found["blobs/sha256/"+h.Hex] }

	top := parse[v1.IndexManifest](t, found["index.json"])
	if len(top.Manifests) != 1 || top.Manifests[0].Annotations[annotationName] != "example.org/hello:v1" {
		t.Fatalf("index.json names no single image: %+v", top.Manifests)
	}
	if got := top.Manifests[0].Digest.String(); got != result.Digest {
		t.Errorf("index.json has %s, images.json %s", got, result.Digest)
	}
	index := parse[v1.IndexManifest](t, blob(top.Manifests[0].Digest))
	var platforms []string
	for _, m := range index.Manifests {
		platforms = append(platforms, m.Platform.String())
		manifest := parse[v1.Manifest](t, blob(m.Digest))
		config := parse[v1.ConfigFile](t, blob(manifest.Config.Digest))
		switch {
		case config.Architecture != m.Platform.Architecture || config.OS != m.Platform.OS:
			t.Errorf("the image for %s says that it is for %s/%s", m.Platform, config.OS, config.Architecture)
		case config.Config.User != "65532:65532":
			t.Errorf("the image for %s runs as %q", m.Platform, config.Config.User)
		case !slices.Equal(config.Config.Entrypoint, []string{"/hello"}):
			t.Errorf("the image for %s runs %q", m.Platform, config.Config.Entrypoint)
		case len(manifest.Layers) != 2:
			t.Errorf("the image for %s has %d layers", m.Platform, len(manifest.Layers))
		}
		if downloads := result.Sizes[m.Platform.String()]; downloads < manifest.Layers[1].Size {
			t.Errorf("images.json gives %d bytes for %s", downloads, m.Platform)
		}
	}
	if !slices.Equal(platforms, []string{"linux/amd64", "linux/arm64"}) {
		t.Errorf("the image is for %q", platforms)
	}
}

// TestLayer looks at what newLayer makes of entries.
func TestLayer(t *testing.T) {
	layer, err := newLayer([]entry{
		{path: "/usr/bin/tool", mode: 0o755, content: []byte("x")},
		{path: "/tmp", mode: fs.ModeDir | fs.ModeSticky | 0o777},
		{path: "/bin", mode: fs.ModeSymlink, target: "usr/bin"},
	}, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	content, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Gid != 0 || !header.ModTime.Equal(epoch) {
			t.Errorf("%s belongs to %d:%d, since %s", header.Name, header.Uid, header.Gid, header.ModTime)
		}
		lines = append(lines, header.Name+" "+fs.FileMode(header.Mode).String()+" "+header.Linkname)
	}
	want := []string{"bin -rwxrwxrwx usr/bin", "tmp/ -rwxrwxrwx ", "usr/ -rwxr-xr-x ", "usr/bin/ -rwxr-xr-x ", "usr/bin/tool -rwxr-xr-x "}
	// fs.FileMode spells the sticky bit of a tar in another place.
	got := strings.ReplaceAll(strings.Join(lines, "\n"), "S", "-")
	if got != strings.Join(want, "\n") {
		t.Errorf("the layer has\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestRoots(t *testing.T) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(roots()) {
		t.Fatal("no certificate can be read")
	}
	if count := bytes.Count(roots(), []byte("BEGIN CERTIFICATE")); count < 100 {
		t.Errorf("only %d roots", count)
	}
}

func TestCollect(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "lib.so.1.2"), []byte("x"), 0o600),
		os.Symlink("lib.so.1.2", filepath.Join(dir, "lib.so.1")),
	); err != nil {
		t.Fatal(err)
	}
	collected := func(pair string) []entry {
		t.Helper()
		entries, err := collect([]string{pair})
		if err != nil {
			t.Fatal(err)
		}
		return entries
	}
	single := collected(filepath.Join(dir, "lib.so.1") + "=/lib/lib.so.1")
	if len(single) != 1 || single[0].mode&fs.ModeSymlink != 0 || single[0].path != "/lib/lib.so.1" {
		t.Errorf("a link that is named itself is not followed: %+v", single)
	}
	whole := collected(dir + "=/opt")
	if len(whole) != 3 || !slices.ContainsFunc(whole, func(e entry) bool { return e.target == "lib.so.1.2" && e.path == "/opt/lib.so.1" }) {
		t.Errorf("a directory gives %+v", whole)
	}
	if _, err := collect([]string{dir + "=relative"}); err == nil {
		t.Error("a relative place is accepted")
	}
}

func TestArguments(t *testing.T) {
	for _, args := range [][]string{
		nil, {"bake"}, {"build", "-version", "a b"}, {"build", "-platforms", "linux"}, {"build", "nothing"}, {"pack"},
		{"pack", "-out", "x", "-name", "y", "-entrypoint", "/z", "-platform", "linux/amd64,linux/arm64"},
	} {
		if run(args) == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
