// Command images builds the images of this project and publishes their sizes.
//
//	go run ./test/e2e/cmd/images [-out .images] [-version v1.2.3]
//
// Without -version the images bear the version of the chart, which is what the chart asks for.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"

	"git.ryuvia.com/niklas/terdut-operator/charts"
	"git.ryuvia.com/niklas/terdut-operator/test/e2e/images"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

// suite names the figures of the images.
const suite = "images"

// measured is the platform whose size is published.
const measured = "linux/amd64"

func main() {
	out := flag.String("out", ".images", "directory for the archives")
	version := flag.String("version", charts.Version(), "tag of the images")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *out, *version); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out, version string) error {
	built, err := images.Build(ctx, images.Options{Dir: out, Version: version, Log: os.Stdout})
	if err != nil {
		return err
	}
	err = figures.Start(suite)
	for _, name := range []string{images.Operator, images.RefServer} {
		mib := float64(built[name].Sizes[measured]) / (1 << 20)
		err = errors.Join(err, figures.Value(suite, "image-mib-"+name, math.Round(mib*10)/10, "MiB"))
	}
	return err
}
