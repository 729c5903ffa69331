package optional

import (
	"fmt"
	"time"

	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
)

// AddTo makes kinds that look at the cluster and fill the cache of a manager,
// and adds them to it. period is the time between two looks; see Options.
func AddTo(mgr ctrl.Manager, period time.Duration) (*Kinds, error) {
	served, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("set up the discovery of optional kinds: %w", err)
	}
	kinds := New(Options{Discovery: served, Cache: mgr.GetCache(), Period: period})
	if err = mgr.Add(kinds); err != nil {
		return nil, fmt.Errorf("set up the optional kinds: %w", err)
	}
	return kinds, nil
}
