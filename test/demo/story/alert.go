package story

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
	"git.ryuvia.com/niklas/terdut-operator/test/demo/screen"
)

// The alert that pages somebody, and the one that says that alerting works.
const (
	alertName = "CheckoutErrorRateHigh"
	watchdog  = "Watchdog"
)

func sendAlert(ctx context.Context, w *world) error {
	internal, err := webhook(ctx, w)
	if err != nil {
		return err
	}
	if err = post(ctx, w, internal); err != nil {
		return err
	}
	var incident terdutapi.Incident
	err = w.await(ctx, "the server opens an incident", func(ctx context.Context) error {
		list, listErr := w.api.ListIncidents(ctx, nil)
		incident, listErr = only("incident", list, listErr)
		return listErr
	})
	if err != nil {
		return err
	}
	full, err := w.api.GetIncident(ctx, incident.ID)
	if err != nil {
		return fmt.Errorf("read incident %d: %w", incident.ID, err)
	}
	if err = showIncident(ctx, w, full); err != nil {
		return err
	}
	return fed(ctx, w)
}

// webhook is the address inside the cluster from the Secret that the operator has written. Both addresses are shown
// without their key.
func webhook(ctx context.Context, w *world) (string, error) {
	secret := &corev1.Secret{}
	if err := w.get(ctx, payments, v1alpha1.WebhookSecretName(sourceName), secret); err != nil {
		return "", err
	}
	public := string(secret.Data[v1alpha1.WebhookURLKey])
	internal := string(secret.Data[v1alpha1.WebhookInternalURLKey])
	w.Line("   Secret %s/%s", payments, secret.Name)
	w.Line("     %-12s %s", v1alpha1.WebhookURLKey, screen.MaskLast(public))
	w.Line("     %-12s %s", v1alpha1.WebhookInternalURLKey, screen.MaskLast(internal))
	outside, err := url.Parse(public)
	if err != nil {
		return "", errors.New("the published URL is none")
	}
	inside, err := url.Parse(internal)
	if err != nil || outside.Path != inside.Path || !strings.HasPrefix(internal, address+"/") {
		return "", errors.New("the published URLs do not lead to the same place")
	}
	return internal, nil
}

// post sends what Alertmanager would.
func post(ctx context.Context, w *world, to string) error {
	now := time.Now().UTC()
	alert := func(labels map[string]string, summary string) terdutapi.AlertmanagerAlert {
		return terdutapi.AlertmanagerAlert{
			Status: terdutapi.AlertFiring, StartsAt: now, Labels: labels, Annotations: map[string]string{"summary": summary},
		}
	}
	body, err := json.Marshal(terdutapi.AlertmanagerWebhook{
		Version:  "4",
		GroupKey: `{}:{team="payments"}`,
		Status:   terdutapi.AlertFiring,
		Receiver: payments,
		Alerts: []terdutapi.AlertmanagerAlert{
			alert(map[string]string{"alertname": alertName, "severity": "critical", "team": payments}, "checkout fails for one request in ten"),
			alert(map[string]string{"alertname": watchdog, "severity": "none", "team": payments}, "alerting works"),
		},
	})
	if err != nil {
		return fmt.Errorf("write the alert: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return errors.New("post the alert: the published URL is none")
	}
	request.Header.Set("Content-Type", "application/json")
	return w.During("POST, as Alertmanager does: "+alertName+" and "+watchdog, func() error {
		response, sendErr := w.inside.Do(request)
		if sendErr != nil {
			// The URL in the error's text is a secret.
			var failed *url.Error
			if errors.As(sendErr, &failed) {
				sendErr = failed.Err
			}
			return fmt.Errorf("post the alert: %w", sendErr)
		}
		if closeErr := response.Body.Close(); closeErr != nil || response.StatusCode/100 != 2 {
			return fmt.Errorf("post the alert: the server answers %s", response.Status)
		}
		return nil
	})
}

// showIncident shows one incident and proves that it is the one that the alert should open.
func showIncident(ctx context.Context, w *world, i *terdutapi.Incident) error {
	timeline, err := w.api.GetIncidentTimeline(ctx, i.ID)
	if err != nil {
		return fmt.Errorf("read the timeline of incident %d: %w", i.ID, err)
	}
	told, paged := w.spell(timeline)
	names := make([]string, 0, len(i.Alerts))
	for _, a := range i.Alerts {
		names = append(names, a.Name)
	}
	alerts := strings.Join(names, " ")
	err = w.Table("", []string{"Incident", "Severity", "Status", "Alerts", "Timeline"}, [][]string{
		{fmt.Sprint(i.ID), i.Severity, string(i.Status), alerts, told},
	})
	switch {
	case err != nil:
		return err
	case i.Severity != "critical" || alerts != alertName:
		return fmt.Errorf("incident %d is not the one that %s should open", i.ID, alertName)
	case i.TeamID != nil && *i.TeamID != w.teamID:
		return fmt.Errorf("incident %d belongs to team %d, want %d", i.ID, *i.TeamID, w.teamID)
	case !paged:
		return fmt.Errorf("incident %d: nobody tried to page %s, whom the first level names", i.ID, username)
	}
	w.Line("   (it tries to page %s, as the escalation rule says; there is no ntfy here)", username)
	return nil
}

// spell is a timeline in one line, and whether it tells of a page to the user.
func (w *world) spell(timeline []terdutapi.TimelineEvent) (line string, paged bool) {
	told := make([]string, 0, len(timeline))
	for _, event := range timeline {
		text := event.Type
		if event.UserID != nil && *event.UserID == w.aliceID {
			paged = true
			text += " (" + username + ")"
		}
		told = append(told, text)
	}
	return strings.Join(told, ", "), paged
}

// fed proves that the watchdog's alert was a sign of life: it is there, and has opened no incident.
func fed(ctx context.Context, w *world) error {
	alerts, err := w.api.ListAlerts(ctx, nil)
	if err != nil {
		return fmt.Errorf("list the alerts: %w", err)
	}
	for _, a := range alerts {
		if a.Name != watchdog {
			continue
		}
		if a.IncidentID != nil && *a.IncidentID != 0 {
			return fmt.Errorf("%s has opened an incident: no switch was fed", watchdog)
		}
		w.Line("ok %s has fed the dead man's switch: the alert is there and has no incident", watchdog)
		return nil
	}
	return fmt.Errorf("the server has no alert %s", watchdog)
}
