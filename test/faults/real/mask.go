package real

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// mask lets a client see one run only, with the names of its scenario.
type mask struct {
	// suffix ends the real name of each namespace of the run, and stands in no
	// other object.
	suffix string
	next   http.RoundTripper
	// answered is told of every object with which a write was answered; nil if
	// nobody wants to know.
	answered func(object []byte)
}

// RoundTrip implements http.RoundTripper.
func (m *mask) RoundTrip(req *http.Request) (*http.Response, error) {
	masked, err := m.request(req)
	if err != nil {
		return nil, fmt.Errorf("mask %s %s: %w", req.Method, req.URL.Path, err)
	}
	resp, err := m.next.RoundTrip(masked)
	if err != nil {
		return nil, err
	}
	resp.Request = req
	if req.URL.Query().Get("watch") != "" {
		resp.Body = &stream{mask: m, from: bufio.NewReader(resp.Body), body: resp.Body}
		return resp, nil
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // it was read, as far as it came
	if err != nil {
		return nil, err
	}
	if body, err = m.answer(req, resp.StatusCode, body); err != nil {
		return nil, fmt.Errorf("mask the answer to %s %s: %w", req.Method, req.URL.Path, err)
	}
	if req.Method != http.MethodGet && resp.StatusCode < 300 && m.answered != nil {
		m.answered(body)
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("Content-Length")
	return resp, nil
}

// request is the request with real names. Only what the API server understands
// has to have them: where an object is, and the name of a Namespace. A JSON patch
// names neither.
func (m *mask) request(req *http.Request) (*http.Request, error) {
	out := req.Clone(req.Context())
	p := parse(req.URL.Path)
	out.URL.Path, out.URL.RawPath = p.with(m.suffix), ""
	out.Header.Set("Accept", onlyJSON(req.Header.Get("Accept")))
	if req.Body == nil || req.Method == http.MethodGet || req.Method == http.MethodDelete {
		return out, nil
	}
	body, err := io.ReadAll(req.Body)
	_ = req.Body.Close() // it was read, as far as it came
	if err != nil {
		return nil, err
	}
	var content any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err = decoder.Decode(&content); err != nil {
		return nil, fmt.Errorf("read the body: %w", err)
	}
	object, _ := content.(map[string]any)
	if metadata, ok := object["metadata"].(map[string]any); ok {
		field := "namespace"
		if p.resource == "namespaces" {
			field = "name"
		}
		if name, ok := metadata[field].(string); ok {
			metadata[field] = name + m.suffix
		}
	}
	if body, err = json.Marshal(content); err != nil {
		return nil, err
	}
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return out, nil
}

// answer is the body without other runs, and without the suffix.
func (m *mask) answer(req *http.Request, code int, body []byte) ([]byte, error) {
	p := parse(req.URL.Path)
	if code != http.StatusOK || req.Method != http.MethodGet || p.resource == "" || p.name != "" {
		return m.off(body), nil
	}
	list := map[string]json.RawMessage{}
	var items []json.RawMessage
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(list["items"], &items); err != nil {
		return nil, err
	}
	items = slices.DeleteFunc(items, func(item json.RawMessage) bool { return !m.ours(item) })
	var err error
	if list["items"], err = json.Marshal(items); err != nil {
		return nil, err
	}
	body, err = json.Marshal(list)
	return m.off(body), err
}

// ours tells whether an object is one of the run.
func (m *mask) ours(object []byte) bool { return bytes.Contains(object, []byte(m.suffix+`"`)) }

// off takes the suffix off.
func (m *mask) off(text []byte) []byte { return bytes.ReplaceAll(text, []byte(m.suffix), nil) }

// onlyJSON is what a client accepts, without binary forms.
func onlyJSON(accept string) string {
	var kept []string
	for form := range strings.SplitSeq(accept, ",") {
		if strings.Contains(form, "json") {
			kept = append(kept, form)
		}
	}
	if len(kept) == 0 {
		return "application/json"
	}
	return strings.Join(kept, ",")
}

// stream is the body of a watch: one event a line.
type stream struct {
	mask *mask
	from *bufio.Reader
	body io.Closer
	rest []byte
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		line, err := s.from.ReadBytes('\n')
		if s.mask.ours(line) || bytes.HasPrefix(line, []byte(`{"type":"BOOKMARK"`)) || bytes.HasPrefix(line, []byte(`{"type":"ERROR"`)) {
			s.rest = s.mask.off(line)
		}
		if err != nil && len(s.rest) == 0 {
			return 0, err
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (s *stream) Close() error { return s.body.Close() }
