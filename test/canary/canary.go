package canary

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// shortest is the length of a value, in bytes, that is looked for: shorter ones
// are found by chance.
const shortest = 12

// window is how many bytes of a form are compared first.
const window = 8

// Values are all secrets that there ever were. The zero value has none; it is
// safe for concurrent use.
type Values struct {
	mu     sync.Mutex
	source map[string]string
}

// Add adds a secret value and says where it stands, for a person who reads of a
// hit. White space around it is no part of it; a value of less than 12 bytes is
// left out.
func (v *Values) Add(source string, value []byte) {
	value = bytes.TrimSpace(value)
	if len(value) < shortest {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.source == nil {
		v.source = map[string]string{}
	}
	if v.source[string(value)] == "" {
		v.source[string(value)] = source
	}
}

// Len is how many values there are.
func (v *Values) Len() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.source)
}

// Hit is a value that was found. It does not show the value.
type Hit struct {
	// Source says where the value should stand, Form how it was written, and
	// Place where it was found.
	Source, Form, Place string
}

// String is the hit in one sentence.
func (h Hit) String() string {
	return fmt.Sprintf("the value of %s stands in %s (%s)", h.Source, h.Place, h.Form)
}

// Find looks for every value in the texts, which are named by their places. A
// value is reported once for each place and form.
func (v *Values) Find(texts map[string][]byte) []Hit {
	index := v.index()
	found := map[Hit]bool{}
	for place, text := range texts {
		for i := 0; i+window <= len(text); i++ {
			for _, p := range index[string(text[i:i+window])] {
				if bytes.HasPrefix(text[i:], p.text) {
					found[Hit{Source: p.source, Form: p.form, Place: place}] = true
				}
			}
		}
	}
	hits := make([]Hit, 0, len(found))
	for hit := range found {
		hits = append(hits, hit)
	}
	slices.SortFunc(hits, func(a, b Hit) int { return cmp.Compare(a.String(), b.String()) })
	return hits
}

// pattern is one form of one value.
type pattern struct {
	text         []byte
	source, form string
}

// index has the forms of all values by their first bytes.
func (v *Values) index() map[string][]pattern {
	v.mu.Lock()
	defer v.mu.Unlock()
	index := map[string][]pattern{}
	for value, source := range v.source {
		for text, form := range forms(value) {
			index[text[:window]] = append(index[text[:window]], pattern{text: []byte(text), source: source, form: form})
		}
	}
	return index
}

// forms are the ways to write a value. Of several that are equal the plainest
// gives the name.
func forms(value string) map[string]string {
	out := map[string]string{}
	add := func(form, text string) {
		if _, known := out[text]; !known && len(text) >= window {
			out[text] = form
		}
	}
	add("as it is", value)
	quoted, err := json.Marshal(value)
	if err == nil { // a string always can
		add("as JSON", strings.Trim(string(quoted), `"`))
	}
	add("in a query", url.QueryEscape(value))
	add("in a path", url.PathEscape(value))
	add("in hexadecimal", hex.EncodeToString([]byte(value)))
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			add("in base64", within(encoding, value, before))
		}
	}
	return out
}

// within is what a value looks like in a longer text in base64 when so many
// bytes, modulo three, stand before it: without the characters at both ends that
// depend on its neighbours.
func within(encoding *base64.Encoding, value string, before int) string {
	const byteBits, charBits = 8, 6
	text := encoding.EncodeToString(append(make([]byte, before), value...))
	first := (before*byteBits + charBits - 1) / charBits
	return text[first : (before+len(value))*byteBits/charBits]
}
