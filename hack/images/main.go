// Command images makes container images without a container engine: it compiles a program for each platform, puts it on an
// empty base with certificate roots and an unprivileged user, and writes an archive that containerd, Podman, kind and
// Docker 25 or later load. The same source gives the same digest on every machine with the same Go.
//
//	go -C hack/images run . build -root ../.. -out ../../.images -version v1.2.3 [operator] [refserver]
//	go -C hack/images run . pack -out postgres.tar -name example.org/postgres:15 -entrypoint /bin/postgres -add /usr/bin/x=/bin/x
//
// build makes the images of this project; pack makes one of files that are there already, for tests.
package main

import (
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "images: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("say what to do: build or pack")
	}
	switch args[0] {
	case "build":
		return runBuild(args[1:])
	case "pack":
		return runPack(args[1:])
	}
	return fmt.Errorf("%q is unknown: say build or pack", args[0])
}

// list collects a flag that may be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

func runBuild(args []string) error {
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	root := flags.String("root", ".", "directory of the module whose programs are built")
	out := flags.String("out", ".images", "directory for the archives and images.json")
	version := flags.String("version", "dev", "tag of the images")
	platforms := flags.String("platforms", "linux/amd64,linux/arm64", "platforms, separated by commas")
	if err := flags.Parse(args); err != nil {
		return err
	}
	targets, err := parsePlatforms(*platforms)
	if err != nil {
		return err
	}
	if err = checkTag(*version); err != nil {
		return err
	}
	chosen, err := choose(flags.Args())
	if err != nil {
		return err
	}
	return build(chosen, *root, *out, *version, targets)
}

func runPack(args []string) error {
	flags := flag.NewFlagSet("pack", flag.ContinueOnError)
	var files, env, entrypoint list
	out := flags.String("out", "", "the archive to write")
	name := flags.String("name", "", "name of the image with its tag")
	user := flags.String("user", unprivileged, "user and group IDs of the process, as <uid>:<gid>")
	platform := flags.String("platform", "linux/amd64", "the platform that the files are for")
	flags.Var(&files, "add", "a file or directory of this machine and its place in the image, as <from>=<to>; several times")
	flags.Var(&env, "env", "an environment variable, as <name>=<value>; several times")
	flags.Var(&entrypoint, "entrypoint", "the program, then its arguments; several times")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out == "" || *name == "" || len(entrypoint) == 0 {
		return errors.New("pack needs -out, -name and -entrypoint")
	}
	targets, err := parsePlatforms(*platform)
	if err != nil || len(targets) != 1 {
		return errors.Join(fmt.Errorf("-platform is %q: give one, such as linux/amd64", *platform), err)
	}
	content, err := collect(files)
	if err != nil {
		return err
	}
	base, err := baseLayer()
	if err != nil {
		return err
	}
	// It lives as long as a test does.
	top, err := newLayer(content, gzip.BestSpeed)
	if err != nil {
		return err
	}
	image, err := newImage(settings{platform: targets[0], user: *user, entrypoint: entrypoint, env: env}, base, top)
	if err != nil {
		return fmt.Errorf("make image %s: %w", *name, err)
	}
	_, err = writeArchive(*out, *name, map[string]v1.Image{targets[0].String(): image})
	return err
}

// parsePlatforms reads a list such as linux/amd64,linux/arm64.
func parsePlatforms(text string) ([]v1.Platform, error) {
	var platforms []v1.Platform
	for word := range strings.SplitSeq(text, ",") {
		platform, err := v1.ParsePlatform(strings.TrimSpace(word))
		if err != nil {
			return nil, fmt.Errorf("platform %q: %w", word, err)
		}
		if platform.OS == "" || platform.Architecture == "" {
			return nil, fmt.Errorf("platform %q: say <os>/<architecture>, such as linux/amd64", word)
		}
		platforms = append(platforms, *platform)
	}
	return platforms, nil
}
