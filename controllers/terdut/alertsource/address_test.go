package alertsource

import (
	"testing"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

func TestAddresses(t *testing.T) {
	at := bases{public: "https://terdut.example.com/a", internal: "http://terdut.platform.svc:8080/b"}
	for _, c := range []struct{ given, public, internal string }{
		{"/hooks/k", at.public + "/hooks/k", at.internal + "/hooks/k"},
		{"hooks/k", at.public + "/hooks/k", at.internal + "/hooks/k"},
		{"/hooks/k?a=b%20c", at.public + "/hooks/k?a=b%20c", at.internal + "/hooks/k?a=b%20c"},
		{"/hooks/a%2Fb", at.public + "/hooks/a%2Fb", at.internal + "/hooks/a%2Fb"},
		{at.public + "/hooks/k?a=b", at.public + "/hooks/k?a=b", at.internal + "/hooks/k?a=b"},
		{"https://other.example.com/hooks/k", "https://other.example.com/hooks/k", at.internal + "/hooks/k"},
	} {
		public, internal, err := addresses(c.given, at)
		if err != nil || public != c.public || internal != c.internal {
			t.Errorf("%q: %q, %q, %v", c.given, public, internal, err)
		}
	}
	for _, bad := range []string{"", "http://[::1", "%zz"} {
		if _, _, err := addresses(bad, at); err == nil || err.Error() != "not a URL" {
			t.Errorf("%q: %v; want an error without the value", bad, err)
		}
	}
}

func TestFollow(t *testing.T) {
	const before, now = "https://terdut.example.com", "https://oncall.example.com/a"
	for address, want := range map[string]string{
		before + "/hooks/k?a=b":             now + "/hooks/k?a=b",
		now + "/hooks/k":                    now + "/hooks/k",
		before + ".org/hooks/k":             before + ".org/hooks/k",
		"https://proxy.example.com/hooks/k": "https://proxy.example.com/hooks/k",
		"":                                  "",
	} {
		if got := follow(address, before, now); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
	if got := follow("/hooks/k", "", now); got != "/hooks/k" {
		t.Errorf("where nothing is recorded: %q", got)
	}
}

// TestAnswered: a server that the operator has installed may still give its
// former hostname, which it has from the operator.
func TestAnswered(t *testing.T) {
	const given = "https://former.example.com/hooks/k"
	for name, c := range map[string]struct {
		change func(*v1alpha1.TerdutServer)
		want   string
	}{
		"installed, with a hostname":    {func(s *v1alpha1.TerdutServer) { s.Spec.Networking.Hostname = "now.example.com" }, "/hooks/k"},
		"installed, without a hostname": {func(*v1alpha1.TerdutServer) {}, given},
		"external": {func(s *v1alpha1.TerdutServer) {
			s.Spec.External = &v1alpha1.ServerExternal{URL: "https://now.example.com"}
		}, given},
	} {
		server := &v1alpha1.TerdutServer{}
		c.change(server)
		if got := answered(given, server); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
