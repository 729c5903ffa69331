package stage

import (
	"context"
	"fmt"
	"time"
)

// pollInterval is how often a condition is looked at.
const pollInterval = 100 * time.Millisecond

// Until looks again and again until check has no complaint. After within it gives up with the last complaint; when ctx
// ends, with the reason of that.
func Until(ctx context.Context, within time.Duration, check func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var last error
	for {
		err := check(limited)
		if err == nil {
			return nil
		}
		if limited.Err() == nil || last == nil {
			// A check that the end of the wait has cut off knows less than the one before it.
			last = err
		}
		select {
		case <-limited.Done():
			// The end of ctx ends both.
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("not within %s: %w", within, last)
		case <-ticker.C:
		}
	}
}
