package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// entry is one file, directory or symbolic link of an image. All belong to root, so that the process, which is not root,
// cannot change them.
type entry struct {
	path   string // absolute
	mode   fs.FileMode
	target string // of a symbolic link
	// content or, where that is nil, the file from.
	content []byte
	from    string
}

// epoch is the time of everything in an image: a time of the build would give each build another digest.
var epoch = time.Unix(0, 0).UTC()

// newLayer writes the entries, in the order of their paths and with the directories that they need, and compresses them at
// a level of gzip.
func newLayer(entries []entry, level int) (v1.Layer, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, e := range withParents(entries) {
		if err := e.write(w); err != nil {
			return nil, fmt.Errorf("put %s into the image: %w", e.path, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("write a layer: %w", err)
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer),
		tarball.WithCompressionLevel(level), tarball.WithCompressedCaching)
	if err != nil {
		return nil, fmt.Errorf("write a layer: %w", err)
	}
	return layer, nil
}

// withParents adds directories and sorts. An entry that is given takes the place of a made one.
func withParents(entries []entry) []entry {
	known := map[string]entry{}
	for _, e := range entries {
		for dir := path.Dir(e.path); dir != "/"; dir = path.Dir(dir) {
			if _, ok := known[dir]; !ok {
				known[dir] = entry{path: dir, mode: fs.ModeDir | 0o755}
			}
		}
		known[e.path] = e
	}
	all := make([]entry, 0, len(known))
	for _, e := range known {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.path, b.path) })
	return all
}

func (e entry) write(w *tar.Writer) error {
	header := &tar.Header{
		Name: strings.TrimPrefix(e.path, "/"), Mode: int64(e.mode.Perm()), ModTime: epoch, Format: tar.FormatPAX,
	}
	if e.mode&fs.ModeSticky != 0 {
		header.Mode |= 0o1000
	}
	switch {
	case e.mode.IsDir():
		header.Typeflag, header.Name = tar.TypeDir, header.Name+"/"
		return w.WriteHeader(header)
	case e.mode&fs.ModeSymlink != 0:
		header.Typeflag, header.Linkname, header.Mode = tar.TypeSymlink, e.target, 0o777
		return w.WriteHeader(header)
	}
	content := e.content
	if content == nil {
		var err error
		if content, err = os.ReadFile(e.from); err != nil {
			return err
		}
	}
	header.Typeflag, header.Size = tar.TypeReg, int64(len(content))
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}

// collect reads pairs <from>=<to>. A directory comes with everything below it; a link that is named itself is followed.
func collect(pairs []string) ([]entry, error) {
	var entries []entry
	for _, pair := range pairs {
		from, to, ok := strings.Cut(pair, "=")
		if !ok || !path.IsAbs(to) {
			return nil, fmt.Errorf("-add %q: say <from>=<to>, with an absolute path in the image", pair)
		}
		resolved, err := filepath.EvalSymlinks(from)
		if err != nil {
			return nil, fmt.Errorf("-add %q: %w", pair, err)
		}
		err = filepath.WalkDir(resolved, func(name string, found fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := found.Info()
			if err != nil {
				return err
			}
			e := entry{path: path.Join(to, strings.TrimPrefix(name, resolved)), mode: info.Mode(), from: name}
			if info.Mode()&fs.ModeSymlink != 0 {
				e.target, err = os.Readlink(name)
			}
			entries = append(entries, e)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("-add %q: %w", pair, err)
		}
	}
	return entries, nil
}
