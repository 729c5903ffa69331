package apply

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// TestEscapedIsReadAsMeant: whatever character a string has, who reads the JSON
// as YAML reads the same.
func TestEscapedIsReadAsMeant(t *testing.T) {
	var every []rune
	for r := rune(0); r <= 0x10ffff; r += 1 + r/0x3000 { // each of the first, and fewer and fewer
		if r < 0xd800 || r > 0xdfff {
			every = append(every, r)
		}
	}
	for _, r := range append(every, 0xfeff, 0xfffd, 0xfffe, 0xffff, 0x10ffff) {
		want := map[string]string{"name": "a" + string(r) + "b", string(r): "as a key"}
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]string
		if err = yaml.Unmarshal(plain(raw), &got); err != nil {
			t.Errorf("%U: %v", r, err)
		} else if got["name"] != want["name"] || got[string(r)] != want[string(r)] {
			t.Errorf("%U: %q was read as %q", r, want, got)
		}
		var same map[string]string
		if err = json.Unmarshal(plain(raw), &same); err != nil || same["name"] != want["name"] {
			t.Errorf("%U: as JSON it is %q, %v", r, same, err)
		}
	}
}

type caller func(*http.Request) (*http.Response, error)

func (c caller) RoundTrip(req *http.Request) (*http.Response, error) { return c(req) }

// TestEscapedSendsTheRestAsItIs: only what is applied is looked at, and a request
// is the caller's own.
func TestEscapedSendsTheRestAsItIs(t *testing.T) {
	for kind, want := range map[types.PatchType]string{
		types.ApplyYAMLPatchType: `{"a":"\u007f"}`, types.MergePatchType: "{\"a\":\"\u007f\"}", types.ApplyCBORPatchType: "{\"a\":\"\u007f\"}",
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, "https://example.com", strings.NewReader("{\"a\":\"\u007f\"}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", string(kind))
		length := req.ContentLength
		_, err = Escaped(caller(func(sent *http.Request) (*http.Response, error) {
			body, failed := io.ReadAll(sent.Body)
			if string(body) != want || sent.ContentLength != int64(len(want)) {
				t.Errorf("%s: sent %q, %d bytes: %v", kind, body, sent.ContentLength, failed)
			}
			return nil, failed
		})).RoundTrip(req) //nolint:bodyclose // there is none
		if err != nil || req.ContentLength != length {
			t.Errorf("%s: %v, and the request says %d", kind, err, req.ContentLength)
		}
	}
}
