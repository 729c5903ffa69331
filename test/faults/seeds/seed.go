package main

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed bugs/*.yaml
var bugs embed.FS

// seed is a bug: one place in the product that reads otherwise.
type seed struct {
	// Name is the name of its file.
	Name string `json:"-"`
	// Pattern is a short name of the sort of bug, as operators have had it.
	Pattern string `json:"pattern"`
	// What the operator does wrong then, in words.
	What string `json:"what"`
	// File is relative to the root of the source tree.
	File string `json:"file"`
	// Old stands in the file exactly once, inside of one function; New is in its
	// place.
	Old string `json:"old"`
	New string `json:"new"`
	// Expect are the scenarios that should meet it. They are played first.
	Expect []string `json:"expect"`
}

// all are the seeds, in the order of their names.
func all() ([]seed, error) {
	entries, err := fs.ReadDir(bugs, "bugs")
	if err != nil {
		return nil, err
	}
	seeds := make([]seed, 0, len(entries))
	for _, entry := range entries {
		raw, err := bugs.ReadFile("bugs/" + entry.Name())
		if err != nil {
			return nil, err
		}
		s := seed{Name: strings.TrimSuffix(entry.Name(), ".yaml")}
		if err := yaml.UnmarshalStrict(raw, &s); err != nil {
			return nil, fmt.Errorf("read seed %q: %w", s.Name, err)
		}
		if err := s.complete(); err != nil {
			return nil, err
		}
		seeds = append(seeds, s)
	}
	return seeds, nil
}

func (s *seed) complete() error {
	for field, text := range map[string]string{"pattern": s.Pattern, "what": s.What, "file": s.File, "old": s.Old} {
		if text == "" {
			return fmt.Errorf("read seed %q: it has no %s", s.Name, field)
		}
	}
	if s.Old == s.New || len(s.Expect) == 0 {
		return fmt.Errorf("read seed %q: give what stands in the place of old, and the scenarios that should meet it", s.Name)
	}
	return nil
}
