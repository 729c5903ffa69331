package deletion_test

import (
	"encoding/json"
	"sync"
)

// said is what the operator's log says of objects that it lets go without
// cleaning up: the one place that is always there.
var said = &journal{}

// journal counts the lines about releases, by namespace. It is safe for
// concurrent use.
type journal struct {
	mu     sync.Mutex
	counts map[string]int
}

// Write takes one line, in JSON.
func (j *journal) Write(line []byte) (int, error) {
	var entry struct{ Msg, Namespace string }
	if json.Unmarshal(line, &entry) == nil && entry.Msg == "released without cleaning up" {
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.counts == nil {
			j.counts = map[string]int{}
		}
		j.counts[entry.Namespace]++
	}
	return len(line), nil
}

// releases is how many objects of a namespace were let go.
func (j *journal) releases(namespace string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.counts[namespace]
}
