// Command helm builds the helm commands that tests use, as far as they are
// missing, and prints their paths.
package main

import (
	"context"
	"fmt"
	"os"

	"git.ryuvia.com/niklas/terdut-operator/test/helm"
)

func main() {
	for _, version := range helm.Versions() {
		path, err := helm.Path(context.Background(), version)
		if err != nil {
			fmt.Fprintln(os.Stderr, "helm:", err)
			os.Exit(1)
		}
		fmt.Println(path)
	}
}
