package apply

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"
)

// Escaped sends requests by next, and what is applied in such a way that the API
// server reads what was meant. It reads an apply as YAML, into which the JSON that
// clients send fits but for a few characters of strings: YAML refuses DEL and the
// other control characters beyond ASCII, and takes one of them for a line break.
// One of them in a name or in the words of a server would keep a status from ever
// being written. They are sent as escapes, which mean the same in both.
func Escaped(next http.RoundTripper) http.RoundTripper { return &escaped{next: next} }

type escaped struct {
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (e *escaped) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body == nil || req.Header.Get("Content-Type") != string(types.ApplyYAMLPatchType) {
		return e.next.RoundTrip(req)
	}
	body, err := io.ReadAll(req.Body)
	_ = req.Body.Close() // it was read, as far as it came
	if err != nil {
		return nil, fmt.Errorf("read what is to be applied: %w", err)
	}
	body = plain(body)
	sent := req.Clone(req.Context())
	sent.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	sent.Body, sent.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return e.next.RoundTrip(sent)
}

// WrappedRoundTripper implements net.RoundTripperWrapper of apimachinery.
func (e *escaped) WrappedRoundTripper() http.RoundTripper { return e.next }

// plain writes the characters of JSON that mean something else in YAML, or
// nothing, as escapes. They stand in strings only.
func plain(body []byte) []byte {
	if !bytes.ContainsFunc(body, alien) {
		return body
	}
	out := make([]byte, 0, len(body)+64)
	for len(body) > 0 {
		r, size := utf8.DecodeRune(body)
		if alien(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = append(out, body[:size]...)
		}
		body = body[size:]
	}
	return out
}

// alien tells whether YAML reads a character of a JSON string otherwise. Below
// 0x20 JSON has escapes only, and of what separates lines its writer makes some.
func alien(r rune) bool {
	return r >= 0x7f && r <= 0x9f || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r == '\ufffe' || r == '\uffff'
}
