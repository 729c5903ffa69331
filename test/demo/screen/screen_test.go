package screen

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestMaskLast(t *testing.T) {
	cases := map[string]string{
		"https://t.example.com/api/webhooks/alertmanager/canary":      "https://t.example.com/api/webhooks/alertmanager/****",
		"http://terdut.ns.svc:8080/api/webhooks/alertmanager/canary/": "http://terdut.ns.svc:8080/api/webhooks/alertmanager/****",
		"http://u:canary@terdut.ns.svc:8080/hook/canary?key=canary#x": "http://terdut.ns.svc:8080/hook/****",
		"http://terdut.ns.svc:8080/canary":                            "http://terdut.ns.svc:8080/****",
		"http://terdut.ns.svc:8080/hook/can%2Fary":                    "http://terdut.ns.svc:8080/hook/****",
		"canary":            "****",
		"http://h:x/canary": "****", "http://host": "http://host****",
		"": "****",
	}
	for address, want := range cases {
		got := MaskLast(address)
		if strings.Contains(got, "canary") {
			t.Errorf("MaskLast(%q) shows the secret: %q", address, got)
		}
		if got != want {
			t.Errorf("MaskLast(%q) is %q, want %q", address, got, want)
		}
	}
}

func TestTableAlignsColumns(t *testing.T) {
	var out bytes.Buffer
	err := New(&out).Table("two rows", []string{"Kind", "Name"}, [][]string{{"TerdutTeam", "a"}, {"X", "payments"}})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	if len(lines) != 4 {
		t.Fatalf("want title, header and two rows:\n%s", out.String())
	}
	if at := strings.Index(lines[2], "a"); strings.Index(lines[3], "payments") != strings.LastIndex(lines[2], "a") || at < 0 {
		t.Errorf("the second column is not aligned:\n%s", out.String())
	}
}

func TestDuringReturnsTheError(t *testing.T) {
	var out bytes.Buffer
	want := errors.New("no")
	if got := New(&out).During("something", func() error { return want }); !errors.Is(got, want) {
		t.Errorf("got %v", got)
	}
	if !strings.HasPrefix(out.String(), "  -- something") {
		t.Errorf("wrote %q", out.String())
	}
}
