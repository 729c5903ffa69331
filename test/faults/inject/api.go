package inject

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	"git.ryuvia.com/niklas/terdut-operator/test/faults/world"
)

// API injects into one request of an incarnation to a real API server, which is
// the call that it is said to be. The labels are those of Kubernetes.
func (j *Injector) API(fence *Fence, call world.Call, req *http.Request, next http.RoundTripper) (*http.Response, error) {
	return j.send(fence, labelOf(call), req, next, func(m Mode) (*http.Response, error) {
		status := refusal(call, m).Status()
		body, err := json.Marshal(&status)
		if err != nil {
			return nil, err
		}
		answer := &http.Response{
			Status: http.StatusText(int(status.Code)), StatusCode: int(status.Code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: req,
		}
		if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
			answer.Header.Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
		}
		return answer, nil
	})
}
