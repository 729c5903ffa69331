package openapi_test

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"git.ryuvia.com/niklas/terdut-operator/openapi"
)

type operation struct {
	ID      string `json:"operationId"`
	Source  string `json:"x-source"`
	Summary string `json:"summary"`
}

type schema struct {
	Source     string            `json:"x-source"`
	Properties map[string]schema `json:"properties"`
}

type document struct {
	Paths      map[string]map[string]any `json:"paths"`
	Components struct {
		Schemas map[string]schema `json:"schemas"`
	} `json:"components"`
}

func load(t *testing.T) (document, []operation) {
	t.Helper()
	var doc document
	if err := yaml.Unmarshal(openapi.Document, &doc); err != nil {
		t.Fatal(err)
	}
	var operations []operation
	for path, item := range doc.Paths {
		for method, raw := range item {
			if method == "parameters" {
				continue
			}
			var op operation
			data, err := yaml.Marshal(raw)
			if err == nil {
				err = yaml.Unmarshal(data, &op)
			}
			if err != nil {
				t.Fatalf("%s %s: %v", method, path, err)
			}
			operations = append(operations, op)
		}
	}
	return doc, operations
}

var sources = map[string]bool{"client": true, "design": true, "proposed": true, "assumed": true}

func TestEveryPieceSaysWhereItComesFrom(t *testing.T) {
	doc, operations := load(t)
	seen := map[string]bool{}
	for _, op := range operations {
		if op.ID == "" || seen[op.ID] || !sources[op.Source] || !strings.HasSuffix(op.Summary, ".") {
			t.Errorf("operation %+v needs an id of its own, an x-source and a summary", op)
		}
		seen[op.ID] = true
	}
	for name, s := range doc.Components.Schemas {
		if !sources[s.Source] {
			t.Errorf("schema %s has the x-source %q", name, s.Source)
		}
	}
}

// TestEveryAssumptionIsListed keeps docs/wire-assumptions.md complete: what is not known is named there.
func TestEveryAssumptionIsListed(t *testing.T) {
	page, err := os.ReadFile("../docs/wire-assumptions.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := func(name string) {
		t.Helper()
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("%s is not known for certain and not in docs/wire-assumptions.md", name)
		}
	}
	doc, operations := load(t)
	open := func(source string) bool { return source == "assumed" || source == "proposed" }
	for _, op := range operations {
		if open(op.Source) {
			listed(op.ID)
		}
	}
	for name, s := range doc.Components.Schemas {
		if open(s.Source) {
			listed(name)
		}
		for property, p := range s.Properties {
			if open(p.Source) {
				listed(name + "." + property)
			}
		}
	}
}
