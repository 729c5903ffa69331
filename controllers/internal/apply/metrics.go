package apply

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// driftCorrected counts corrected children, once for every manager who had
// changed one. A removal has no manager: its label is empty.
var driftCorrected = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "terdut_drift_corrected_total",
	Help: "Objects that somebody else had changed and that were restored, by kind and by the field manager who had changed them.",
}, []string{"kind", "manager"})

func init() { metrics.Registry.MustRegister(driftCorrected) }

// count adds the corrections of a pass to the metrics.
func count(changes []Change) {
	for _, c := range changes {
		if c.Action != Corrected {
			continue
		}
		managers := map[string]bool{}
		for _, f := range c.Fields {
			managers[f.Manager] = true
		}
		for m := range managers {
			driftCorrected.WithLabelValues(c.Key.Kind, m).Inc()
		}
	}
}
