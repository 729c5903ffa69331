package outcome

import "testing"

func TestSteady(t *testing.T) {
	for _, c := range []struct{ first, again, want string }{
		{"no such user (request_id=af31-77)", "no such user (request_id=0c9e-12)", "no such user (…)"},
		{"trace id: Root=1-67891233-abc", "trace id: Root=1-67891299-abd", ""},
		{`failed, X-Request-ID "42"`, `failed, X-Request-ID "43"`, ""},
		{"oops 8f14e45f-ceea-467f-a8e2-3b1f0c1d2e3f", "oops 9a14e45f-ceea-467f-a8e2-3b1f0c1d2e3f", "oops …"},
		{"oops 4bf92f3577b34da6a3ce929d0e0e4736", "oops aaf92f3577b34da6a3ce929d0e0e4736", "oops …"},
		{"bad name at 2026-11-30T09:23:07.123Z", "bad name at 2026-11-30T09:23:09Z", "bad name at …"},
		{"bad name at 09:23:07", "bad name at 09:23:08", "bad name at …"},
		{"read tcp 10.1.2.3:41234->10.9.8.7:443: connection reset by peer", "read tcp 10.1.2.3:41999->10.9.8.7:443: connection reset by peer",
			"read tcp …->…: connection reset by peer"},
		{"dial tcp [fd00::1]:41234: refused", "dial tcp [fd00::1]:41235: refused", "dial tcp …: refused"},
		{"gave up after 12.3ms", "gave up after 1.044 s", "gave up …"},
	} {
		got, again := Steady(c.first), Steady(c.again)
		if got != again || c.want != "" && got != c.want {
			t.Errorf("%q became %q, and %q became %q", c.first, got, c.again, again)
		}
	}
}

// What tells a person something stays.
func TestSteadyLeavesTheRest(t *testing.T) {
	for _, words := range []string{
		"", "matcher must be label=value", "timeout must be at least 1m and at most 24h", "level 2 has 3 targets, at most 10 are allowed",
		"team 17 has 4 children", "the name \"Payments EU-West 2\" is taken", "date already assigned: 2026-11-30",
		"requested 3 seats, 2 are left", "feedface is no user", "user 1234567 is not on the team",
		`admission webhook "quota.example.com" denied the request: too many Secrets`,
	} {
		if got := Steady(words); got != words {
			t.Errorf("%q became %q", words, got)
		}
	}
}
