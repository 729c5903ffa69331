package status

import (
	"encoding/json"
	"errors"
	"testing"
)

func TestSurplus(t *testing.T) {
	for _, c := range []struct{ name, want, has, out string }{
		{"the same", `{"a":1,"b":{"c":2},"d":[1]}`, `{"a":1,"b":{"c":2},"d":[1]}`, `{}`},
		{"in another order", `{"d":[{"type":"A"},{"type":"B"}]}`, `{"d":[{"type":"B"},{"type":"A"}]}`, `{}`},
		{"a field", `{"a":1}`, `{"a":1,"b":2}`, `{"b":null}`},
		{"an object", `{"a":1}`, `{"a":1,"pendingCreate":{"name":"x"}}`, `{"pendingCreate":null}`},
		{"a field of an object", `{"remote":{"id":5}}`, `{"remote":{"id":5,"adopted":true}}`, `{"remote":{"adopted":null}}`},
		{"an item", `{"conditions":[{"type":"A"}]}`, `{"conditions":[{"type":"A"},{"type":"Stalled"}]}`, `{"conditions":[{"type":"A"}]}`},
		{"a list", `{}`, `{"retiring":[1]}`, `{"retiring":null}`},
		{"everything", `null`, `{"a":1}`, `{"a":null}`},
	} {
		var want, has map[string]any
		if err := errors.Join(json.Unmarshal([]byte(c.want), &want), json.Unmarshal([]byte(c.has), &has)); err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(surplus(want, has)); string(got) != c.out {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}
