package faults

import "testing"

// TestUndisturbed: what every scenario comes to without a fault is right by
// itself, and the same twice.
func TestUndisturbed(t *testing.T) {
	for _, s := range Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			if ref := referenceOf(t, s); len(ref.effects) == 0 {
				t.Error("it has no effects")
			}
		})
	}
}
