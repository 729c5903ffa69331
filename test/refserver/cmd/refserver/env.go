package main

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/database"
)

type config struct {
	listen          string
	database        string // the DSN; empty keeps the state in memory
	databaseIgnored bool
	options         refserver.Options
}

// environment reads variables and keeps the first complaint.
type environment struct {
	lookup func(string) (string, bool)
	err    error
}

func (e *environment) complain(name, what string) {
	if e.err == nil {
		e.err = fmt.Errorf("%s %s", name, what)
	}
}

func (e *environment) text(name, otherwise string) string {
	if value, ok := e.lookup(name); ok && value != "" {
		return value
	}
	return otherwise
}

func (e *environment) duration(name string, otherwise time.Duration) time.Duration {
	text := e.text(name, "")
	if text == "" {
		return otherwise
	}
	value, err := time.ParseDuration(text)
	if err != nil || value < 0 {
		e.complain(name, "must be a duration such as 15m, not negative")
	}
	return value
}

func (e *environment) boolean(name string, otherwise bool) bool {
	text := e.text(name, "")
	if text == "" {
		return otherwise
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		e.complain(name, "must be true or false")
	}
	return value
}

func (e *environment) address(name string) string {
	text := e.text(name, "")
	if text == "" {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		e.complain(name, "must be an http or https URL without a user")
	}
	return text
}

// list splits a comma separated value; empty entries are left out.
func (e *environment) list(name string) []string {
	var entries []string
	for entry := range strings.SplitSeq(e.text(name, ""), ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			entries = append(entries, entry)
		}
	}
	return entries
}

// fromEnvironment reads the configuration. An error names one variable and what it must be, never a value.
func fromEnvironment(lookup func(string) (string, bool)) (config, error) {
	e := &environment{lookup: lookup}
	cfg := config{listen: e.text("TERDUT_LISTEN_ADDR", ":8080")}
	cfg.database, cfg.databaseIgnored = e.database()
	e.rules(&cfg.options)
	e.notifier(&cfg.options)
	e.capabilities(&cfg.options)
	e.singleSignOn()
	e.boolean("TERDUT_PASSWORD_LOGIN", true)
	cfg.options.BaseURL = e.address("TERDUT_BASE_URL")
	return cfg, e.err
}

// database returns the DSN, empty for memory, and reports whether one is set and ignored.
func (e *environment) database() (dsn string, ignored bool) {
	dsn = e.text("TERDUT_DATABASE_URL", "memory://")
	if strings.HasPrefix(dsn, "memory://") {
		return "", false
	}
	if e.boolean("REFSERVER_IGNORE_DATABASE", false) {
		return "", true
	}
	if err := database.Check(dsn); err != nil {
		e.complain("TERDUT_DATABASE_URL", err.Error())
	}
	return dsn, false
}

func (e *environment) rules(o *refserver.Options) {
	o.Settings.StaleAfter = e.duration("TERDUT_STALE_AFTER", 6*time.Hour)
	o.Settings.ArchiveAfter = e.duration("TERDUT_ARCHIVE_AFTER", 168*time.Hour)
	o.Settings.RepeatEvery = e.duration("TERDUT_NTFY_REPEAT_EVERY", 15*time.Minute)
	o.Settings.FallbackTopic = e.text("TERDUT_NTFY_FALLBACK_TOPIC", "")
	o.Settings.Deadman.Matcher = e.text("TERDUT_DEADMAN_MATCHERS", "")
	o.Settings.Deadman.Timeout = e.duration("TERDUT_DEADMAN_TIMEOUT", 15*time.Minute)
	o.Settings.Deadman.Severity = e.text("TERDUT_DEADMAN_SEVERITY", "critical")
	if !slices.Contains([]string{"info", "warning", "critical"}, o.Settings.Deadman.Severity) {
		e.complain("TERDUT_DEADMAN_SEVERITY", "must be info, warning or critical")
	}
	if o.Settings.Deadman.Timeout == 0 {
		e.complain("TERDUT_DEADMAN_TIMEOUT", "must be above zero")
	}
}

func (e *environment) notifier(o *refserver.Options) {
	address, token := e.address("TERDUT_NTFY_URL"), e.text("TERDUT_NTFY_TOKEN", "")
	if address == "" || e.err != nil {
		return
	}
	ntfy, err := refserver.NewNtfy(address, token)
	if err != nil {
		e.complain("TERDUT_NTFY_URL", "must be an http or https URL")
		return
	}
	o.Notifier = ntfy
}

func (e *environment) capabilities(o *refserver.Options) {
	offered := refserver.AllCapabilities()
	for _, name := range e.list("REFSERVER_WITHOUT") {
		if !offered.TurnOff(name) {
			e.complain("REFSERVER_WITHOUT", "may name "+strings.Join(refserver.AllCapabilities().Names(), ", "))
		}
	}
	o.Capabilities = &offered
	o.Version = e.text("REFSERVER_VERSION", refserver.DefaultVersion)
}

// singleSignOn checks what a real server would need; nobody logs in here.
func (e *environment) singleSignOn() {
	e.duration("TERDUT_OIDC_SESSION_MAX_AGE", 12*time.Hour)
	issuer := e.address("TERDUT_OIDC_ISSUER")
	if !e.boolean("TERDUT_OIDC_ENABLED", false) {
		return
	}
	if issuer == "" {
		e.complain("TERDUT_OIDC_ISSUER", "is required with TERDUT_OIDC_ENABLED")
	}
	for _, name := range []string{"TERDUT_OIDC_CLIENT_ID", "TERDUT_OIDC_CLIENT_SECRET"} {
		if e.text(name, "") == "" {
			e.complain(name, "is required with TERDUT_OIDC_ENABLED")
		}
	}
	if scopes := strings.Fields(e.text("TERDUT_OIDC_SCOPES", "openid")); !slices.Contains(scopes, "openid") {
		e.complain("TERDUT_OIDC_SCOPES", "must contain openid")
	}
}
