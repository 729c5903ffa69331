package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"

	"git.ryuvia.com/niklas/terdut-operator/charts"
	"git.ryuvia.com/niklas/terdut-operator/test/e2e/images"
)

// Variables that name another image of terdut-server, and a later one of it to upgrade to.
const (
	serverVariable = "E2E_SERVER_IMAGE"
	nextVariable   = "E2E_SERVER_IMAGE_NEXT"
)

// serverImages are the images of terdut-server that the suite plays with.
type serverImages struct {
	// what says in words which server it is.
	what string
	// first is installed, next is what it is upgraded to; next may be empty.
	first, next images.Image
	// archives are to be loaded.
	archives []images.Image
}

// previous is the chart of the commit before this one, and its operator.
type previous struct {
	chart    string
	operator images.Image
	// what says in words what it is, or why there is none.
	what string
}

// build makes every image.
func (w *world) build(ctx context.Context) (err error) {
	options := images.Options{
		Dir: filepath.Join(w.dir, "images"), Version: charts.Version(), Platforms: []string{images.Local()}, Log: os.Stdout,
	}
	built, err := images.Build(ctx, options)
	if err != nil {
		return err
	}
	w.operator = built[images.Operator]
	if err = w.chooseServer(ctx, built[images.RefServer], options); err != nil {
		return err
	}
	if w.previous, err = w.buildPrevious(ctx, options); err != nil {
		return err
	}
	if w.postgres, w.postgresBin, err = images.PostgreSQL(ctx, options.Dir, os.Stdout); err != nil {
		return err
	}
	w.alertmanager, err = images.Alertmanager(ctx, options.Dir, os.Stdout)
	return err
}

func (w *world) chooseServer(ctx context.Context, reference images.Image, options images.Options) error {
	if name := os.Getenv(serverVariable); name != "" {
		for _, variable := range []string{serverVariable, nextVariable} {
			if given := os.Getenv(variable); given != "" && !strings.Contains(filepath.Base(given), ":") {
				return fmt.Errorf("%s=%s names no tag: say repository:tag", variable, given)
			}
		}
		w.server = serverImages{what: "server of " + name, first: images.Image{Name: name}, next: images.Image{Name: os.Getenv(nextVariable)}}
		return nil
	}
	options.Dir, options.Version, options.Only = filepath.Join(options.Dir, "next"), options.Version+"-next", []string{images.RefServer}
	built, err := images.Build(ctx, options)
	if err != nil {
		return err
	}
	next := built[images.RefServer]
	if next.Digest == reference.Digest {
		return fmt.Errorf("two versions of the reference server have the digest %s", next.Digest)
	}
	w.server = serverImages{what: "reference server", first: reference, next: next, archives: []images.Image{reference, next}}
	return nil
}

// buildPrevious takes chart and operator of the commit before this one out of git.
func (w *world) buildPrevious(ctx context.Context, options images.Options) (previous, error) {
	dir := filepath.Join(w.dir, "previous")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return previous{}, fmt.Errorf("make a directory for the previous commit: %w", err)
	}
	git := func(args ...string) (output string, ok bool) {
		said, err := exec.CommandContext(ctx, "git", append([]string{"-C", w.root}, args...)...).CombinedOutput()
		return strings.TrimSpace(string(said)), err == nil
	}
	commit, known := git("rev-parse", "--short", "HEAD~1")
	if _, there := git("cat-file", "-e", "HEAD~1:charts/terdut-operator/Chart.yaml"); !known || !there {
		return previous{what: "there is no previous commit with a chart here: the current chart, with another value"}, nil
	}
	archive := filepath.Join(dir, "source.tar")
	if output, ok := git("archive", "--output="+archive, "HEAD~1"); !ok {
		return previous{}, fmt.Errorf("take commit %s out of git: %s", commit, output)
	}
	if output, tarErr := exec.CommandContext(ctx, "tar", "-C", dir, "-xf", archive).CombinedOutput(); tarErr != nil {
		return previous{}, fmt.Errorf("unpack commit %s: %w: %s", commit, tarErr, output)
	}
	options.Source, options.Dir = dir, filepath.Join(options.Dir, "previous")
	options.Version, options.Only = options.Version+"-previous", []string{images.Operator}
	built, err := images.Build(ctx, options)
	if err != nil {
		return previous{}, fmt.Errorf("build the operator of commit %s: %w", commit, err)
	}
	return previous{
		chart: filepath.Join(dir, "charts", "terdut-operator"), operator: built[images.Operator],
		what: "chart and operator of commit " + commit,
	}, nil
}

// render fills a template of testdata in.
func (w *world) render(name string, values any) (string, error) {
	parsed, err := template.ParseFiles(filepath.Join(w.root, "test", "e2e", "testdata", name))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	var out strings.Builder
	if err = parsed.Option("missingkey=error").Execute(&out, values); err != nil {
		return "", fmt.Errorf("fill %s in: %w", name, err)
	}
	return out.String(), nil
}

// overlay makes a directory for kubectl apply -k.
func (w *world) overlay() (string, error) {
	dir, err := os.MkdirTemp(w.dir, "overlay-")
	if err != nil {
		return "", fmt.Errorf("make an overlay: %w", err)
	}
	return dir, nil
}

// write writes files into a directory.
func (w *world) write(dir string, files map[string]string) error {
	var failed error
	for name, text := range files {
		failed = errors.Join(failed, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return failed
}
