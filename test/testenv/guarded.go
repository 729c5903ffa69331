package testenv

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StatusWrites are how many statuses the operator has written since the start,
// and which of the writes did not name the UID and the resourceVersion of the
// object that they were computed from, as "METHOD path". Such a write could
// overwrite what it has never seen.
func (r *Requests) StatusWrites() (all int, unguarded []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.statuses, slices.Clone(r.unguarded)
}

// sawStatus notes a write of a status; the caller holds the lock.
func (r *Requests) sawStatus(req *http.Request) {
	if req.Method == http.MethodGet || !strings.HasSuffix(req.URL.Path, "/status") {
		return
	}
	r.statuses++
	if !guarded(req) {
		r.unguarded = append(r.unguarded, whatOf(req))
	}
}

// guarded tells whether the body of a write names what it means.
func guarded(req *http.Request) bool {
	var object metav1.PartialObjectMetadata
	return json.Unmarshal(Sent(req), &object) == nil && object.UID != "" && object.ResourceVersion != ""
}

// Sent is the body of a request, nil where it has none.
func Sent(req *http.Request) []byte {
	if req.GetBody == nil {
		return nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil
	}
	content, err := io.ReadAll(body)
	if closing := body.Close(); err != nil || closing != nil {
		return nil
	}
	return content
}
