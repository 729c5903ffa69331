package canary

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

const secret = "canary/p@ss w\"rd#1?"

func TestFind(t *testing.T) {
	for place, text := range map[string]string{
		"as it is":       "before " + secret + " after",
		"as JSON":        `{"x":"canary/p@ss w\"rd#1?"}`,
		"in a query":     "https://example.com/?k=" + url.QueryEscape(secret),
		"in a path":      "https://example.com/" + url.PathEscape(secret) + "/x",
		"in hexadecimal": hex.EncodeToString([]byte("x" + secret)),
	} {
		if hits := find(text); len(hits) != 1 || hits[0].Form != place {
			t.Errorf("%s: %v", place, hits)
		}
	}
	if hits := find("nothing to see: canary/p@ss, and " + secret[:len(secret)-1]); len(hits) != 0 {
		t.Errorf("found by mistake: %v", hits)
	}
}

// TestFindInBase64 puts the value at every place of a text, in both alphabets.
func TestFindInBase64(t *testing.T) {
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		for before := range 7 {
			for after := range 4 {
				text := encoding.EncodeToString([]byte(strings.Repeat("b", before) + secret + strings.Repeat("a", after)))
				if hits := find(text); len(hits) != 1 || hits[0].Form != "in base64" {
					t.Errorf("%d bytes before and %d after: %v", before, after, hits)
				}
			}
		}
	}
}

func TestAHitDoesNotShowTheValue(t *testing.T) {
	if hits := find(secret); len(hits) != 1 || strings.Contains(fmt.Sprint(hits), secret) {
		t.Errorf("got %v", hits)
	}
}

func TestAdd(t *testing.T) {
	v := &Values{}
	v.Add("short", []byte("12345678901"))
	v.Add("spaces", []byte("  1234567890 \n"))
	if v.Len() != 0 {
		t.Error("a short value is looked for")
	}
	v.Add("first", []byte(secret+"\n"))
	v.Add("second", []byte(secret))
	if hits := v.Find(map[string][]byte{"log": []byte(secret)}); v.Len() != 1 || len(hits) != 1 || hits[0].Source != "first" {
		t.Errorf("got %d values, %v", v.Len(), hits)
	}
}

func find(text string) []Hit {
	v := &Values{}
	v.Add("the secret", []byte(secret))
	return v.Find(map[string][]byte{"a text": []byte(text)})
}
