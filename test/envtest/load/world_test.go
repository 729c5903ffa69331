package load_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
)

// latency of every request to the reference server.
const latency = 5 * time.Millisecond

// world is one server and the namespaces whose teams are on it.
type world struct {
	server *v1alpha1.TerdutServer
	peer   *testenv.Peer
}

// newWorld makes a server that admits everybody and waits for its key.
func newWorld(ctx context.Context) *world {
	GinkgoHelper()
	w := &world{}
	platform := namespace(ctx, "platform")
	var err error
	w.peer, err = env.Network.Serve(platform, "terdut", refserver.Options{SkipValidation: true, Latency: latency})
	Expect(err).NotTo(HaveOccurred())
	Expect(env.Admin.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: platform, Name: "db"}, Data: map[string][]byte{"password": []byte("opens nothing")},
	})).To(Succeed())
	w.server = &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: platform, Name: "terdut"}}
	w.server.Spec.Database.DSN = "postgres://terdut@db:5432/terdut"
	w.server.Spec.Database.PasswordSecretRef = &v1alpha1.SecretKeyRef{Name: "db", Key: "password"}
	w.server.Spec.AllowedTeams.Namespaces.From = v1alpha1.FromAll
	w.server.Spec.Credentials = &v1alpha1.ServerCredentials{Mode: v1alpha1.CredentialsOperatorOnly}
	Expect(env.Admin.Create(ctx, w.server)).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(env.Admin.Get(ctx, client.ObjectKeyFromObject(w.server), w.server)).To(Succeed())
		g.Expect(meta.IsStatusConditionTrue(w.server.Status.Conditions, v1alpha1.ConditionReady)).To(BeTrue())
	}).Should(Succeed())
	return w
}

func namespace(ctx context.Context, prefix string) string {
	GinkgoHelper()
	name, err := env.Namespace(ctx, prefix, nil)
	Expect(err).NotTo(HaveOccurred())
	return name
}

// team makes one team.
func (w *world) team(ctx context.Context, namespace, displayName string) *v1alpha1.TerdutTeam {
	GinkgoHelper()
	t := &v1alpha1.TerdutTeam{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "team-"}}
	t.Spec.ServerRef = v1alpha1.ServerRef{Name: w.server.Name, Namespace: w.server.Namespace}
	t.Spec.DisplayName = displayName
	Expect(env.Admin.Create(ctx, t)).To(Succeed())
	return t
}

// teams makes many teams, side by side.
func (w *world) teams(ctx context.Context, namespaces []string, prefix string, count int) {
	GinkgoHelper()
	var makers sync.WaitGroup
	const side = 4
	for m := range side {
		makers.Go(func() {
			defer GinkgoRecover()
			for i := m; i < count; i += side {
				w.team(ctx, namespaces[i%len(namespaces)], fmt.Sprintf("%s %d", prefix, i))
			}
		})
	}
	makers.Wait()
}

// clear deletes all teams of those namespaces and waits until the operator has let
// them go: what still stirs would be measured with what comes next.
func (w *world) clear(ctx context.Context, namespaces ...string) {
	GinkgoHelper()
	for _, namespace := range namespaces {
		Expect(env.Admin.DeleteAllOf(ctx, &v1alpha1.TerdutTeam{}, client.InNamespace(namespace))).To(Succeed())
	}
	Eventually(func() []v1alpha1.TerdutTeam { return all(ctx, namespaces) }).
		WithTimeout(2 * patience).WithPolling(time.Second).Should(BeEmpty())
	Expect(w.peer.Teams()).To(BeEmpty())
}

// all are all teams in those namespaces.
func all(ctx context.Context, namespaces []string) []v1alpha1.TerdutTeam {
	GinkgoHelper()
	list := &v1alpha1.TerdutTeamList{}
	Expect(env.Admin.List(ctx, list)).To(Succeed())
	return slices.DeleteFunc(list.Items, func(t v1alpha1.TerdutTeam) bool { return !slices.Contains(namespaces, t.Namespace) })
}

// count counts the teams of which a condition is as given, "Status Reason".
func count(ctx context.Context, namespaces []string, conditionType, want string) int {
	GinkgoHelper()
	n := 0
	for _, t := range all(ctx, namespaces) {
		c := meta.FindStatusCondition(t.Status.Conditions, conditionType)
		if c != nil && string(c.Status)+" "+c.Reason == want {
			n++
		}
	}
	return n
}

// isReady tells whether one team is.
func isReady(ctx context.Context, t *v1alpha1.TerdutTeam) bool {
	err := env.Admin.Get(ctx, client.ObjectKeyFromObject(t), t)
	return err == nil && meta.IsStatusConditionTrue(t.Status.Conditions, v1alpha1.ConditionReady)
}

// passes is how many passes of the controller of TerdutTeams have ended since
// the process began.
func passes() int {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	total := 0.0
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "controller" && l.GetValue() == "terdutteam" {
					total += m.GetCounter().GetValue()
				}
			}
		}
	}
	return int(total)
}

// eventuallyPasses waits for so many more passes.
func eventuallyPasses(more int) {
	GinkgoHelper()
	begin := passes()
	Eventually(func() int { return passes() - begin }).Should(BeNumerically(">=", more))
}

// teamWrites are the writes to TerdutTeams since the last Reset.
func teamWrites() map[string]int {
	out := map[string]int{}
	for _, w := range env.Requests.Writes() {
		if _, name, ok := strings.Cut(w, "/terdutteams/"); ok {
			out[name]++
		}
	}
	return out
}

func total(writes map[string]int) int {
	n := 0
	for _, w := range writes {
		n += w
	}
	return n
}

// heap is the memory that is in use, in bytes, after everything else is given
// back.
func heap() int {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc) //nolint:gosec // far below the limit
}

// times are when a path was read, since the last ResetRequests.
func (w *world) times(path string) []time.Time {
	var out []time.Time
	for _, r := range w.peer.Requests() {
		if r.Method == "GET" && r.Path == path {
			out = append(out, r.At)
		}
	}
	return out
}
