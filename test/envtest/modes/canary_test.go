package modes_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

// said is everything that was logged.
var said = &text{}

type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *text) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.b.Bytes())
}

// every is every key that stood in a Secret at any moment.
var every sync.Map

// collectKeys follows all Secrets until the end of the suite.
func collectKeys() {
	GinkgoHelper()
	watching, err := client.NewWithWatch(rest.CopyConfig(env.Plane.Config), client.Options{Scheme: controllers.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	events, err := watching.Watch(ctx, &corev1.SecretList{})
	Expect(err).NotTo(HaveOccurred())
	go func() {
		for event := range events.ResultChan() {
			if secret, ok := event.Object.(*corev1.Secret); ok && len(secret.Data[v1alpha1.CredentialsKey]) > 8 {
				every.Store(string(secret.Data[v1alpha1.CredentialsKey]), true)
			}
		}
	}()
	DeferCleanup(func() {
		events.Stop()
		cancel()
	})
}

// noKeyShown searches everything that people read for every key there was.
func noKeyShown(ctx context.Context) {
	GinkgoHelper()
	shown := map[string][]byte{"log": said.bytes()}
	for kind, list := range map[string]client.ObjectList{
		"Events": &eventsv1.EventList{}, "TerdutServers": &v1alpha1.TerdutServerList{}, "TerdutTeams": &v1alpha1.TerdutTeamList{},
		"Deployments": &appsv1.DeploymentList{}, "Services": &corev1.ServiceList{},
	} {
		Expect(env.Admin.List(ctx, list)).To(Succeed())
		raw, err := json.Marshal(list)
		Expect(err).NotTo(HaveOccurred())
		shown[kind] = raw
	}
	secrets := &corev1.SecretList{}
	Expect(env.Admin.List(ctx, secrets)).To(Succeed())
	for i := range secrets.Items {
		raw, err := json.Marshal(secrets.Items[i].ObjectMeta)
		Expect(err).NotTo(HaveOccurred())
		shown["metadata of Secrets"] = append(shown["metadata of Secrets"], raw...)
	}
	keys, hits := 0, 0
	every.Range(func(key, _ any) bool {
		keys++
		plain := []byte(key.(string))
		for where, what := range shown {
			if bytes.Contains(what, plain) || bytes.Contains(what, []byte(base64.StdEncoding.EncodeToString(plain))) {
				hits++
				AddReportEntry("a key is shown", where)
			}
		}
		return true
	})
	Expect(keys).To(BeNumerically(">", 0))
	Expect(figures.Value(suite, "keys-shown", hits, "")).To(Succeed())
	Expect(hits).To(BeZero())
}
