package main

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
)

func from(pairs ...string) (config, error) {
	env := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		env[pairs[i]] = pairs[i+1]
	}
	return fromEnvironment(func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	})
}

func TestDefaults(t *testing.T) {
	cfg, err := from()
	if err != nil || cfg.listen != ":8080" || cfg.options.Settings.StaleAfter != 6*time.Hour || cfg.databaseIgnored {
		t.Errorf("without variables: %+v, %v", cfg, err)
	}
}

func TestDatabase(t *testing.T) {
	for dsn, want := range map[string]string{
		"memory://":                           "",
		"postgres://u@h/db":                   "postgres://u@h/db",
		"postgresql://u@h/db?sslmode=require": "postgresql://u@h/db?sslmode=require",
	} {
		cfg, err := from("TERDUT_DATABASE_URL", dsn)
		if err != nil || cfg.database != want || cfg.databaseIgnored {
			t.Errorf("%s: %+v, %v", dsn, cfg, err)
		}
		cfg, err = from("TERDUT_DATABASE_URL", dsn, "REFSERVER_IGNORE_DATABASE", "true")
		if err != nil || cfg.database != "" || cfg.databaseIgnored != (want != "") {
			t.Errorf("%s, ignored: %+v, %v", dsn, cfg, err)
		}
	}
}

// everything is what the operator renders, and this binary's own variables.
var everything = []string{
	"TERDUT_LISTEN_ADDR", "127.0.0.1:0", "TERDUT_DATABASE_URL", "postgres://terdut@db/terdut", "PGPASSWORD", "x",
	"REFSERVER_IGNORE_DATABASE", "true", "TERDUT_BASE_URL", "https://t.example.com", "TERDUT_STALE_AFTER", "1h",
	"TERDUT_ARCHIVE_AFTER", "2h", "TERDUT_DEADMAN_MATCHERS", "alertname=Watchdog", "TERDUT_DEADMAN_TIMEOUT", "3m",
	"TERDUT_DEADMAN_SEVERITY", "warning", "TERDUT_NTFY_URL", "http://ntfy", "TERDUT_NTFY_FALLBACK_TOPIC", "all",
	"TERDUT_NTFY_REPEAT_EVERY", "4m", "TERDUT_NTFY_TOKEN", "x", "TERDUT_OIDC_ENABLED", "true",
	"TERDUT_OIDC_ISSUER", "https://sso", "TERDUT_OIDC_CLIENT_ID", "a", "TERDUT_OIDC_CLIENT_SECRET", "b",
	"TERDUT_OIDC_NAME", "SSO", "TERDUT_OIDC_SCOPES", "openid profile email", "TERDUT_OIDC_ALLOWED_GROUPS", "a,b",
	"TERDUT_OIDC_ADMIN_GROUP", "c", "TERDUT_OIDC_SESSION_MAX_AGE", "12h", "TERDUT_PASSWORD_LOGIN", "false",
	"REFSERVER_WITHOUT", "me, version",
}

func TestEveryVariable(t *testing.T) {
	cfg, err := from(everything...)
	if err != nil {
		t.Fatal(err)
	}
	o := cfg.options
	if !cfg.databaseIgnored || o.Notifier == nil || o.BaseURL != "https://t.example.com" {
		t.Errorf("configuration is %+v", cfg)
	}
	if o.Capabilities.Me || o.Capabilities.Version || !o.Capabilities.ServiceAccounts {
		t.Errorf("capabilities are %+v", o.Capabilities)
	}
	rules := o.Settings
	rules.NormalizeName = nil
	want := model.Settings{
		StaleAfter: time.Hour, ArchiveAfter: 2 * time.Hour, RepeatEvery: 4 * time.Minute, FallbackTopic: "all",
		Deadman: model.Heartbeat{Matcher: "alertname=Watchdog", Timeout: 3 * time.Minute, Severity: "warning"},
	}
	if !reflect.DeepEqual(rules, want) {
		t.Errorf("rules are %+v, want %+v", rules, want)
	}
}

func TestBadEnvironment(t *testing.T) {
	cases := [][]string{
		{"TERDUT_DATABASE_URL", "postgres://u:canary@h/db"},
		{"TERDUT_DATABASE_URL", "postgres://u@h/db?password=canary"},
		{"TERDUT_DATABASE_URL", "postgres://u@h/db?passfile=canary"},
		{"TERDUT_DATABASE_URL", "mysql://canary@h/db"},
		{"TERDUT_DATABASE_URL", "postgres://canary@h:p@ss/db"},
		{"TERDUT_DATABASE_URL", "canary"},
		{"TERDUT_STALE_AFTER", "canary"},
		{"TERDUT_ARCHIVE_AFTER", "-1h"},
		{"TERDUT_DEADMAN_TIMEOUT", "0s"},
		{"TERDUT_DEADMAN_SEVERITY", "canary"},
		{"TERDUT_NTFY_URL", "canary"},
		{"TERDUT_NTFY_URL", "http://u:canary@h"},
		{"TERDUT_NTFY_REPEAT_EVERY", "canary"},
		{"TERDUT_BASE_URL", "canary"},
		{"TERDUT_PASSWORD_LOGIN", "canary"},
		{"TERDUT_OIDC_ENABLED", "canary"},
		{"TERDUT_OIDC_ISSUER", "canary"},
		{"TERDUT_OIDC_SESSION_MAX_AGE", "canary"},
		{"REFSERVER_WITHOUT", "canary"},
		{"TERDUT_OIDC_ISSUER", "", "TERDUT_OIDC_ENABLED", "true"},
		{
			"TERDUT_OIDC_CLIENT_SECRET", "", "TERDUT_OIDC_ENABLED", "true", "TERDUT_OIDC_ISSUER", "https://sso",
			"TERDUT_OIDC_CLIENT_ID", "a",
		},
	}
	for _, env := range cases {
		_, err := from(env...)
		if err == nil || !strings.HasPrefix(err.Error(), env[0]+" ") || strings.Contains(err.Error(), "canary") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v", env, err)
		}
	}
}
