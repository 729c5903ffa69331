package remote

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// releasedWithoutCleanup counts resources that were let go although something
// of them may have stayed on a server.
var releasedWithoutCleanup = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "terdut_released_without_cleanup_total",
	Help: "Resources that were let go although something of them may be left on a server, by kind and by the reason.",
}, []string{"kind", "reason"})

func init() { metrics.Registry.MustRegister(releasedWithoutCleanup) }
