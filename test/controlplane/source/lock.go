package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockPoll is how often a waiting process asks for the lock again.
const lockPoll = 200 * time.Millisecond

// Lock takes an exclusive lock on path and waits for it, saying so once. The kernel lets go of the lock when the
// holder dies, so the file may stay. The returned function releases it.
func Lock(ctx context.Context, path string, log io.Writer) (func(), error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	release := func() { _ = file.Close() }
	ticker := time.NewTicker(lockPoll)
	defer ticker.Stop()
	for waiting := false; ; waiting = true {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return release, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			release()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if !waiting {
			say(log, "another process prepares the programs; waiting for %s", path)
		}
		select {
		case <-ctx.Done():
			release()
			return nil, fmt.Errorf("wait for lock %s: %w", path, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}
