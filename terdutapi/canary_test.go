package terdutapi_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// canary looks like a key and stands wherever one can stand.
const canary = "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00"

// TestNoErrorShowsAKey plants a key as credential, in arguments, in every part of the answer, and calls everything.
func TestNoErrorShowsAKey(t *testing.T) {
	bodies := map[string]string{
		jsonType:     `{"error":"your key ` + canary + ` is bad"}`,
		"text/plain": "404 page not found " + canary,
		"text/html":  "<html>" + canary,
		canary:       canary,
	}
	lists := []string{
		`{"` + canary + `":1}`, `[{"id":"` + canary + `"}]`, `[{"id":1,"name":"` + canary + `","created_at":"` + canary + `"}]`,
		`{"id":0,"key":"` + canary + `","url":"http://h/` + canary + `"}`, `"` + canary, `{"levels":"` + canary + `"}`,
	}
	for media, body := range bodies {
		for _, status := range []int{200, 201, 301, 400, 401, 403, 404, 405, 409, 418, 422, 429, 500, 503} {
			scan(t, status, media, body)
		}
	}
	for _, body := range lists {
		scan(t, 200, jsonType, body)
	}
}

func scan(t *testing.T, status int, media, body string) {
	t.Helper()
	c := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		w.Header().Set("Location", "http://"+canary+"@127.0.0.1/"+canary+"?"+canary)
		w.Header().Set("Retry-After", canary)
		w.Header().Set("Www-Authenticate", canary)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}, terdutapi.WithAPIKey(canary))
	for name, err := range everyCall(c) {
		if err == nil {
			continue
		}
		for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
			if strings.Contains(text, canary) || strings.Contains(text, "c0ffee") ||
				strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(canary))) ||
				strings.Contains(text, url.QueryEscape("/"+canary)) {
				t.Errorf("%s at %d %q: %s", name, status, body, text)
			}
		}
	}
}

// everyCall calls every method once, with the canary in each argument that can hold it.
func everyCall(c *terdutapi.Client) map[string]error {
	ctx := context.Background()
	out := map[string]error{
		"Health":                  c.Health(ctx),
		"DeleteUser":              c.DeleteUser(ctx, 1),
		"SetUserNotify":           c.SetUserNotify(ctx, 1, canary),
		"DeleteAPIKey":            c.DeleteAPIKey(ctx, 1, 2),
		"DeleteServiceAccount":    c.DeleteServiceAccount(ctx, 1),
		"DeleteServiceAccountKey": c.DeleteServiceAccountKey(ctx, 1, 2),
		"DeleteTeam":              c.DeleteTeam(ctx, 1),
		"DeleteDeadmanSwitch":     c.DeleteDeadmanSwitch(ctx, 1, 2),
		"DeleteIntegration":       c.DeleteIntegration(ctx, 1, 2),
		"SendAlerts":              c.SendAlerts(ctx, canary, terdutapi.AlertmanagerWebhook{GroupKey: canary}),
	}
	_, out["Version"] = c.Version(ctx)
	_, out["Me"] = c.Me(ctx)
	_, out["Bootstrap"] = c.Bootstrap(ctx, terdutapi.BootstrapRequest{Key: canary})
	_, out["ListUsers"] = c.ListUsers(ctx)
	_, out["CreateUser"] = c.CreateUser(ctx, canary, canary)
	_, out["ListAPIKeys"] = c.ListAPIKeys(ctx, 1)
	_, out["CreateAPIKey"] = c.CreateAPIKey(ctx, 1, terdutapi.CreateKeyRequest{Key: canary})
	_, out["ListServiceAccounts"] = c.ListServiceAccounts(ctx)
	_, out["FindServiceAccount"] = c.FindServiceAccount(ctx, canary)
	_, out["CreateServiceAccount"] = c.CreateServiceAccount(ctx, terdutapi.CreateServiceAccountRequest{Key: canary})
	_, out["ListServiceAccountKeys"] = c.ListServiceAccountKeys(ctx, 1)
	_, out["CreateServiceAccountKey"] = c.CreateServiceAccountKey(ctx, 1, terdutapi.CreateKeyRequest{Key: canary})
	_, out["ListTeams"] = c.ListTeams(ctx)
	_, out["CreateTeam"] = c.CreateTeam(ctx, canary)
	_, out["RenameTeam"] = c.RenameTeam(ctx, 1, canary)
	_, out["SetTeamOIDCGroups"] = c.SetTeamOIDCGroups(ctx, 1, terdutapi.OIDCGroups{MemberGroup: canary})
	_, out["GetEscalation"] = c.GetEscalation(ctx, 1)
	_, out["PutEscalation"] = c.PutEscalation(ctx, 1, terdutapi.EscalationPolicy{FallbackTopic: canary})
	_, out["ListDeadmanSwitches"] = c.ListDeadmanSwitches(ctx, 1)
	_, out["CreateDeadmanSwitch"] = c.CreateDeadmanSwitch(ctx, 1, terdutapi.DeadmanSwitchRequest{Name: canary})
	_, out["ListIntegrations"] = c.ListIntegrations(ctx, 1)
	_, out["CreateIntegration"] = c.CreateIntegration(ctx, 1, terdutapi.CreateIntegrationRequest{Key: canary})
	_, out["RenameIntegration"] = c.RenameIntegration(ctx, 1, 2, canary)
	_, out["ListAlerts"] = c.ListAlerts(ctx, nil)
	_, out["ListIncidents"] = c.ListIncidents(ctx, nil)
	_, out["GetIncident"] = c.GetIncident(ctx, 1)
	_, out["GetIncidentTimeline"] = c.GetIncidentTimeline(ctx, 1)
	_, out["AcknowledgeIncident"] = c.AcknowledgeIncident(ctx, 1)
	_, out["ResolveIncident"] = c.ResolveIncident(ctx, 1)
	_, out["GetSchedule"] = c.GetSchedule(ctx, nil)
	_, out["GetCurrentOnCall"] = c.GetCurrentOnCall(ctx)
	_, out["AssignSchedule"] = c.AssignSchedule(ctx, terdutapi.AssignScheduleRequest{})
	return out
}

// TestEveryCallIsScanned keeps everyCall complete.
func TestEveryCallIsScanned(t *testing.T) {
	calls := everyCall(answering(t, 503, "", ""))
	for name := range methodsOf(&terdutapi.Client{}) {
		if _, scanned := calls[name]; !scanned && name != "Generated" {
			t.Errorf("%s is not scanned", name)
		}
	}
}
