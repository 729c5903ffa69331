package steps

import (
	"net/http"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
)

// alert is what Alertmanager sends for a group without alerts.
const alert = `{"version":"4","groupKey":"g","status":"firing","receiver":"r","groupLabels":{},"commonLabels":{},` +
	`"commonAnnotations":{},"externalURL":"http://alertmanager","truncatedAlerts":0,"alerts":[]}`

// Alert sends an alert to a webhook address, as Alertmanager would, and returns
// the HTTP status of the answer.
func (e *Env) Alert(address string) int {
	ginkgo.GinkgoHelper()
	req, err := http.NewRequest(http.MethodPost, address, strings.NewReader(alert))
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	req.Header.Set("Content-Type", "application/json")
	resp, err := e.Network.RoundTrip(req)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(resp.Body.Close()).To(gomega.Succeed())
	return resp.StatusCode
}
