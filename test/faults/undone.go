package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"git.ryuvia.com/niklas/terdut-operator/test/faults/inject"
)

// undone knows what was made on a server under a mark and may be taken back
// before it ever had its name. Who was shown an empty list begins like that, and
// sees soon that somebody has the name. Each collection is forgiven once.
type undone struct {
	// changes are those of what still bears its mark, by path and by route.
	changes map[string]map[string]int
	// forgiven are the collections of which something was taken back.
	forgiven map[string]bool
}

func newUndone() undone {
	return undone{changes: map[string]map[string]int{}, forgiven: map[string]bool{}}
}

// provisional is in the name of what is not finished.
const provisional = "-terdut-"

// posted remembers what a POST has made, if that bears a mark. It reads the
// answer, and puts it back.
func (u *undone) posted(path string, answer *http.Response) error {
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("read the answer to POST %s: %w", path, err)
	}
	answer.Body = io.NopCloser(bytes.NewReader(raw))
	var made struct {
		ID   int64  `json:"id"`
		Name string `json:"name"`
	}
	if err := json.Unmarshal(raw, &made); err == nil && strings.Contains(made.Name, provisional) {
		u.changes[fmt.Sprintf("%s/%d", path, made.ID)] = map[string]int{}
	}
	return nil
}

// bodyOf is the body of a request, which stays as it is; empty where that cannot be
// read a second time.
func bodyOf(req *http.Request) string {
	if req.GetBody == nil {
		return ""
	}
	body, err := req.GetBody()
	if err != nil {
		return ""
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		return ""
	}
	return string(raw)
}

// altered remembers a change of what was made, and forgets that when it gets a
// name for people.
func (u *undone) altered(req *http.Request, body string) {
	for path, changes := range u.changes {
		if req.URL.Path == path && !strings.Contains(body, provisional) {
			delete(u.changes, path)
		} else if req.URL.Path == path || strings.HasPrefix(req.URL.Path, path+"/") {
			changes[req.Method+" "+inject.Template(req.URL.Path)]++
		}
	}
}

// takenBack tells whether a DELETE takes something back, and then what else was
// done to that.
func (u *undone) takenBack(path string) (collection string, changes map[string]int, is bool) {
	changes, is = u.changes[path]
	if !is {
		return "", nil, false
	}
	delete(u.changes, path)
	collection = inject.Template(path[:strings.LastIndex(path, "/")])
	if u.forgiven[collection] {
		return "", nil, false
	}
	u.forgiven[collection] = true
	return collection, changes, true
}
