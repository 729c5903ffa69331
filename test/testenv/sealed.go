package testenv

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"git.ryuvia.com/niklas/terdut-operator/test/canary/sealed"
)

// said is everything that was logged through Log.
var said = &sealed.Text{}

// Log writes to out, and keeps what was written for the search for secret values
// at the end: what the operator logs should go through it.
func Log(out io.Writer) io.Writer { return said.Tee(out) }

// suiteName is the name of the suite: that of its directory.
func suiteName() (string, error) {
	directory, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the name of the suite: %w", err)
	}
	return filepath.Base(directory), nil
}

// prove proves that no secret value stands outside of Secrets.
func (e *Env) prove(suite string) error {
	for _, peer := range e.Network.peers() {
		for _, key := range peer.Issued() {
			e.Secrets.Add("a key that a server has handed out", []byte(key))
		}
	}
	families, err := metrics.Registry.Gather()
	if err != nil {
		return fmt.Errorf("gather the operator's metrics: %w", err)
	}
	var gathered []byte
	for _, family := range families {
		gathered = append(gathered, family.String()...)
	}
	return e.cluster.Prove(context.Background(), suite, map[string][]byte{
		"the operator's log":            said.Bytes(),
		"what the operator has written": e.Requests.everWritten(),
		"the operator's metrics":        gathered,
	})
}

// sawWrite keeps what the operator writes, whether or not it is there at the
// end; of a Secret its metadata. The caller holds the lock.
func (r *Requests) sawWrite(req *http.Request) {
	if req.Method == http.MethodGet {
		return
	}
	body := Sent(req)
	if strings.Contains(req.URL.Path, "/secrets") {
		var object metav1.PartialObjectMetadata
		if json.Unmarshal(body, &object) != nil {
			return
		}
		body, _ = json.Marshal(&object) // what was read can be written
	}
	r.written.Write(body)
	r.written.WriteByte('\n')
}

// everWritten is all that sawWrite has kept.
func (r *Requests) everWritten() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Clone(r.written.Bytes())
}

// peers are all servers that there ever were.
func (n *Network) peers() []*Peer {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}
