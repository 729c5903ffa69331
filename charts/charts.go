// Package charts tells Go which version this release is. It stands in one
// place, the chart's Chart.yaml, so that chart, image and operator cannot
// disagree.
package charts

import (
	_ "embed"
	"fmt"

	"sigs.k8s.io/yaml"
)

//go:embed terdut-operator/Chart.yaml
var chart []byte

// Version is the version of this release with a v, such as v0.1.0: the chart's
// appVersion, and the tag of its images.
func Version() string {
	var c struct {
		AppVersion string `json:"appVersion"`
	}
	if err := yaml.Unmarshal(chart, &c); err != nil {
		panic(fmt.Sprintf("read Chart.yaml: %v", err)) // compiled in, and tested
	}
	return c.AppVersion
}
