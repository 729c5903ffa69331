package inject

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"git.ryuvia.com/niklas/terdut-operator/test/faults/world"
)

// Kubernetes injects into what one incarnation writes to the API server.
func (j *Injector) Kubernetes(fence *Fence) world.Around {
	return func(ctx context.Context, call world.Call, do func() error) error {
		return j.effect(ctx, fence, request{
			what: labelOf(call), do: do, again: func() { _ = do() },
			answer: func(m Mode) error { return refusal(call, m) },
		})
	}
}

// labelOf names an effect on the API server.
func labelOf(call world.Call) string {
	kind := call.Kind
	if call.Subresource != "" {
		kind += "/" + call.Subresource
	}
	return fmt.Sprintf("K8S %s %s %s", call.Verb, kind, call.NamespacedName)
}

// refusal is an answer that the API server did not give.
func refusal(call world.Call, m Mode) *apierrors.StatusError {
	resource := schema.GroupResource{Resource: strings.ToLower(call.Kind)}
	switch m {
	case Conflict:
		return apierrors.NewConflict(resource, call.Name, errors.New("the object has been modified"))
	case Invalid:
		return apierrors.NewInvalid(schema.GroupKind{Kind: call.Kind}, call.Name, nil)
	default:
		return apierrors.NewTooManyRequests("slow down", 1)
	}
}

// REST injects into the requests of one incarnation to terdut-servers.
func (j *Injector) REST(fence *Fence, next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(req *http.Request) (*http.Response, error) {
		if req.Method == http.MethodGet || req.Method == http.MethodHead {
			return j.ask(fence, next, req)
		}
		return j.send(fence, "REST "+req.Method+" "+Template(req.URL.Path), req, next, func(m Mode) (*http.Response, error) {
			return status(req, m), nil
		})
	})
}

// send sends a request that is an effect, or lets it end badly.
func (j *Injector) send(fence *Fence, what string, req *http.Request, next http.RoundTripper, refused func(Mode) (*http.Response, error)) (*http.Response, error) {
	body, err := drain(req)
	if err != nil {
		return nil, err
	}
	var answer *http.Response
	err = j.effect(req.Context(), fence, request{
		what: what,
		do: func() (err error) {
			answer, err = next.RoundTrip(with(req.Context(), req, body))
			return err
		},
		refused: func() bool { return answer.StatusCode >= http.StatusBadRequest },
		again:   func() { discard(next.RoundTrip(with(context.WithoutCancel(req.Context()), req, body))) },
		answer: func(m Mode) (err error) {
			answer, err = refused(m)
			return err
		},
	})
	if err != nil {
		discard(answer, nil)
		return nil, err
	}
	return answer, nil
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Template is a path with {id} in the place of each number.
func Template(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if _, err := strconv.ParseInt(part, 10, 64); err == nil {
			parts[i] = "{id}"
		}
	}
	return strings.Join(parts, "/")
}

func drain(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(req.Body)
	return body, errors.Join(err, req.Body.Close())
}

func with(ctx context.Context, req *http.Request, body []byte) *http.Request {
	out := req.Clone(ctx)
	out.Body = io.NopCloser(bytes.NewReader(body))
	return out
}

func discard(answer *http.Response, _ error) {
	if answer != nil {
		_ = answer.Body.Close() // it is in memory
	}
}

// status is an answer that the server did not give to a request.
func status(req *http.Request, m Mode) *http.Response {
	code := map[Mode]int{Conflict: http.StatusConflict, Invalid: http.StatusUnprocessableEntity, TooMany: http.StatusTooManyRequests}[m]
	answer := reply(req, code, "application/json", `{"error":"injected"}`)
	if m == TooMany {
		answer.Header.Set("Retry-After", "1")
	}
	return answer
}

func reply(req *http.Request, code int, contentType, body string) *http.Response {
	return &http.Response{
		Status: http.StatusText(code), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(strings.NewReader(body)), Request: req,
	}
}
