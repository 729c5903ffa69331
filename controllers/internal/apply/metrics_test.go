package apply

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestDriftIsCountedByKindAndManager(t *testing.T) {
	deployment := Key{Kind: "CountedDeployment"}
	count([]Change{
		{Key: deployment, Action: Corrected, Fields: []FieldDrift{{Manager: "kubectl-edit"}, {Manager: "kubectl-edit"}, {Manager: "helm"}}},
		{Key: deployment, Action: Updated, Fields: []FieldDrift{{Manager: "kubectl-edit"}}},
		{Key: deployment, Action: Created},
	})
	for manager, want := range map[string]float64{"kubectl-edit": 1, "helm": 1} {
		if got := testutil.ToFloat64(driftCorrected.WithLabelValues("CountedDeployment", manager)); got != want {
			t.Errorf("corrections of %s: %v, want %v", manager, got, want)
		}
	}
}
