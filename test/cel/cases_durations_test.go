package cel_test

import "strings"

// graceGroups try every span of time that may be 0.
func graceGroups() []group {
	const says = "0s or longer"
	var groups []group
	for _, r := range celRules() {
		if !strings.Contains(r.message, says) {
			continue
		}
		g := group{kind: r.kind, path: r.path, says: says}
		for _, value := range []string{"0s", "0h0m0s", "5m", "1h30m", "1ms", "99999h"} {
			g.pass = append(g.pass, create(set(r.path, value)))
		}
		for _, value := range []string{"-1s", "0", "", " ", "1d", "5 m", "5m\n", "infinity", "100000h"} {
			g.fail = append(g.fail, create(set(r.path, value)))
		}
		groups = append(groups, g)
	}
	return groups
}

// durationGroups try every duration of every kind with the same values. The list of places is read from the schema, by
// the message that all durations share.
func durationGroups() []group {
	const says = "longer than 0s"
	var groups []group
	for _, r := range celRules() {
		if !strings.Contains(r.message, says) {
			continue
		}
		try := create
		if strings.HasPrefix(r.path, "status.") {
			try = writeStatus
		}
		at := strings.ReplaceAll(r.path, "[]", "[0]")
		g := group{kind: r.kind, path: r.path, says: says}
		for _, value := range []string{"5m", "90s", "1h30m", "1ms", "1.5h", "0h1s", "99999h", "9999999m", "99999h9999999s"} {
			g.pass = append(g.pass, try(around(at, value)...))
		}
		for _, value := range []string{
			"0s", "0h0m0s", "0.0s", "-1s", "+1s", "1", "0", "", " ", "5 m", "5m ", "5m\n", "1d", "1w", "1us", "1ns", "5M", "m", ".5s",
			"1e3s", "٣m", "infinity", "1.s", "99999999999999999999h", "100000h", "99999999m", strings.Repeat("9", 31) + "h",
		} {
			g.fail = append(g.fail, try(around(at, value)...))
		}
		groups = append(groups, g)
	}
	return groups
}

// around sets the duration, and with it what a status needs beside it.
func around(path, value string) []edit {
	if path == "status.applied.timeout" {
		return []edit{set("status.applied", fields{
			"name": "prod-watchdog", "matcher": "alertname=Watchdog", "timeout": value, "severity": "critical",
		})}
	}
	return []edit{set(path, value)}
}
