package faults

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/inject"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/world"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

// isSecret tells whether nobody may see a value of a Secret: everything that
// people put there, and what has a key in it. The address of a server is none.
func isSecret(secret *unstructured.Unstructured, value string) bool {
	return secret.GetLabels()[v1alpha1.LabelManagedBy] != v1alpha1.ManagedBy || keyIn.MatchString(value)
}

var keyIn = regexp.MustCompile(`[0-9a-f]{64}`)

// history is what has happened in a run, and what must never have happened.
type history struct {
	run *Run

	mu sync.Mutex
	// writes counts the changes on both planes.
	writes int64
	// created and deleted count, by object and by route, and changed what became
	// another one on a server, by route.
	created, deleted, changed map[string]int
	// secrets are all values that ever stood in a Secret, and where.
	secrets map[string]string
	// replaced are keys that stood in a Secret, by their value.
	replaced map[string]replaced
	// undone is what may be taken back.
	undone undone
	// broken is what must never happen and did.
	broken []string
	// left are rules that were let go while a policy stands.
	left []world.ID
	// pardoned are objects of which people take the finalizers off.
	pardoned map[types.UID]bool
}

func newHistory(r *Run) *history {
	return &history{run: r, created: map[string]int{}, deleted: map[string]int{}, changed: map[string]int{}, secrets: map[string]string{}, replaced: map[string]replaced{}, pardoned: map[types.UID]bool{}, undone: newUndone()}
}

// count is how many changes there were on both planes.
func (h *history) count() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.writes
}

// tally is what was written how often.
type tally struct{ created, deleted, changed map[string]int }

// told is what was written, and what must never happen and did.
func (h *history) told() (tally, []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return tally{maps.Clone(h.created), maps.Clone(h.deleted), maps.Clone(h.changed)}, slices.Clone(h.broken)
}

// values are all values that ever stood in a Secret, and where.
func (h *history) values() map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.secrets)
}

// forget forgets what was created and deleted so far.
func (h *history) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.created, h.deleted, h.changed = map[string]int{}, map[string]int{}, map[string]int{}
	h.undone = newUndone()
}

// change is told of every change on the API server.
func (h *history) change(c world.Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writes++
	switch {
	case c.Before == nil:
		h.created[c.ID.String()]++
	case c.After == nil && h.withdrawn(c):
		h.created[c.ID.String()]--
	case c.After == nil:
		h.deleted[c.ID.String()]++
	}
	if c.Kind == "Secret" && c.After != nil {
		for name, value := range secretData(c.After) {
			if isSecret(c.After, value) {
				h.secrets[value] = c.ID.String() + " " + name
			}
		}
	}
	h.always(c)
}

// withdrawn tells whether a Secret goes that was made for what is taken back as
// well. Each is forgiven once.
func (h *history) withdrawn(c world.Change) bool {
	if c.Kind != "Secret" || h.undone.forgiven[c.ID.String()] || h.created[c.ID.String()] == 0 || !h.unannounced(c.Before) {
		return false
	}
	h.undone.forgiven[c.ID.String()] = true
	return true
}

// call carries out a request to a server.
func (h *history) call(req *http.Request, server *refserver.Server) (*http.Response, error) {
	if req.Method == http.MethodGet {
		return server.Transport().RoundTrip(req)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var before held
	if req.Method == http.MethodDelete {
		before = h.liveKeys()
	}
	var was []string
	var sent string
	if req.Method == http.MethodPatch || req.Method == http.MethodPut {
		was, sent = contents(types.NamespacedName{}, server), bodyOf(req)
	}
	answer, err := server.Transport().RoundTrip(req)
	// What the server refuses changes nothing, such as the bootstrap that is asked
	// for once per resync while its key is lost.
	if err != nil || answer.StatusCode >= 300 {
		return answer, err
	}
	h.writes++
	route := inject.Template(req.URL.Path)
	switch req.Method {
	case http.MethodPost:
		h.created["POST "+route]++
		h.made(route)
		return answer, h.undone.posted(req.URL.Path, answer)
	case http.MethodPatch, http.MethodPut:
		if !slices.Equal(was, contents(types.NamespacedName{}, server)) {
			h.changed[req.Method+" "+route]++
			h.undone.altered(req, sent)
		}
	case http.MethodDelete:
		h.destroyed(route, before)
		h.countDeleted(req.URL.Path, route)
	}
	return answer, nil
}

// countDeleted counts a DELETE, or takes out of the count what it has undone.
func (h *history) countDeleted(path, route string) {
	collection, changes, taken := h.undone.takenBack(path)
	if !taken {
		h.deleted["DELETE "+route]++
		return
	}
	h.created["POST "+collection]--
	for change, times := range changes {
		h.changed[change] -= times
	}
}
