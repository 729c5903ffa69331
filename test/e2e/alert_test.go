package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	. "github.com/onsi/gomega"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// The alert that pages somebody, and the one that feeds the sample's dead man's switch.
const (
	alertName = "CheckoutErrorRateHigh"
	watchdog  = "Watchdog"
)

// alertmanagerURL takes alerts, as a Prometheus sends them.
const alertmanagerURL = "http://alertmanager." + payments + ".svc:9093/api/v2/alerts"

func alert(ctx context.Context) {
	Expect(w.apply(ctx, "alertmanager.yaml", map[string]string{
		"Namespace": payments, "Image": w.alertmanager.Name, "Secret": v1alpha1.WebhookSecretName(sourceName),
	})).To(Succeed())
	w.kubectlOK(ctx, "rollout", "status", "deployment/alertmanager", "-n", payments, "--timeout=3m")
	Eventually(ctx, func() error { return fire(ctx, alertName, "critical") }).Should(Succeed())
	Eventually(ctx, func() error { return fire(ctx, watchdog, "none") }).Should(Succeed())
	incident := paged(ctx)
	Expect(incident.Severity).To(Equal("critical"))
}

// fire hands an alert to Alertmanager.
func fire(ctx context.Context, name, severity string) error {
	body, err := json.Marshal([]map[string]any{{
		"labels":      map[string]string{"alertname": name, "severity": severity, "team": payments},
		"annotations": map[string]string{"summary": "from the end-to-end suite"},
	}})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, alertmanagerURL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := w.tunnel.Client().Do(request)
	if err != nil {
		return fmt.Errorf("hand alert %s to Alertmanager: %w", name, err)
	}
	if err = response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("hand alert %s to Alertmanager: it answers %s", name, response.Status)
	}
	return nil
}

// paged waits until the server has one incident for the alert, and the watchdog's alert without one: it was a sign of
// life.
func paged(ctx context.Context) *terdutapi.Incident {
	var incident *terdutapi.Incident
	Eventually(ctx, func(g Gomega) {
		api, err := w.sides.API(ctx, platform, serverName)
		g.Expect(err).NotTo(HaveOccurred())
		incidents, err := api.ListIncidents(ctx, nil)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(incidents).To(HaveLen(1))
		incident, err = api.GetIncident(ctx, incidents[0].ID)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(incident.Alerts).To(HaveLen(1))
		g.Expect(incident.Alerts[0].Name).To(Equal(alertName))
		alerts, err := api.ListAlerts(ctx, nil)
		g.Expect(err).NotTo(HaveOccurred())
		fed := false
		for _, one := range alerts {
			if one.Name == watchdog {
				fed = one.IncidentID == nil || *one.IncidentID == 0
			}
		}
		g.Expect(fed).To(BeTrue(), "the alert of the watchdog feeds the switch and opens no incident")
	}).Should(Succeed())
	return incident
}
