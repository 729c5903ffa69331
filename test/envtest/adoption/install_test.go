package adoption_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/refs"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

// install is one server in the platform team's namespace, which it admits like
// the tenant, and an operator.
type install struct {
	*steps.Install
	stop func()
}

// newInstall makes an install and waits until the operator has its key.
func newInstall(ctx context.Context, options refserver.Options) *install {
	GinkgoHelper()
	i := &install{Install: env.NewInstall(ctx, options)}
	steps.Change(ctx, env, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: i.Platform}}, func(ns *corev1.Namespace) {
		ns.Labels[sample.Allowed] = "true"
	})
	i.start()
	env.EventuallyReady(ctx, i.Server)
	return i
}

// start starts an operator, which ends with the spec at the latest.
func (i *install) start() {
	GinkgoHelper()
	stop, err := env.StartOperator(controllers.Options{Resync: resync, Limits: connect.Limits{Patience: resync}})
	Expect(err).NotTo(HaveOccurred())
	i.stop = func() { Expect(stop()).To(Succeed()) }
	DeferCleanup(i.stop)
}

// namespace makes one that the servers here admit.
func namespace(ctx context.Context, prefix string) string {
	GinkgoHelper()
	return env.NewNamespace(ctx, prefix, sample.Admitted())
}

// writes are the calls since the last ResetRequests that can change a team or
// something on one, as "METHOD path template".
func (i *install) writes() []string {
	var out []string
	for _, call := range i.Peer.Calls("POST", "PUT", "PATCH", "DELETE") {
		if strings.Contains(call, "/api/teams") {
			out = append(out, call)
		}
	}
	return out
}

// rests waits until the operator has looked at everything again, a few times.
func (i *install) rests() {
	GinkgoHelper()
	looks := func() (n int) {
		for _, call := range i.Peer.Calls("GET") {
			if call == "GET /api/teams" {
				n++
			}
		}
		return n
	}
	before := looks()
	Eventually(looks).Should(BeNumerically(">=", before+3))
}

// deadman is a switch that pages with the same matcher as every other one.
func deadman(t *v1alpha1.TerdutTeam, name string) *v1alpha1.TerdutDeadmanSwitch {
	s := sample.Switch(t, name)
	s.Spec.Matcher = "alertname=Watchdog"
	return s
}

// of makes one of each kind, with those names on the server, and does not wait.
func (i *install) of(ctx context.Context, team, names string) *sample.Full {
	GinkgoHelper()
	t := i.Team(team)
	env.Create(ctx, t)
	a := sample.FullOf(t)
	a.Switch = deadman(t, "watchdog")
	a.Switch.Spec.Name, a.Source.Spec.Name = names, names
	env.Create(ctx, a.Children()...)
	return a
}

// full is of, and waits.
func (i *install) full(ctx context.Context) *sample.Full {
	GinkgoHelper()
	a := i.of(ctx, "Payments", "watch")
	env.EventuallyReady(ctx, a.Objects()...)
	return a
}

// stands is everything that stands on the server.
func (i *install) stands() string {
	var out strings.Builder
	for _, t := range i.Peer.Teams() {
		fmt.Fprintf(&out, "%+v %+v %+v %+v\n", t, i.Peer.Escalation(t.ID), switchesOf(i, t.ID), i.Peer.Integrations(t.ID))
	}
	return out.String()
}

func switchesOf(i *install, team int64) (out []string) {
	for _, s := range i.Peer.Switches(team) {
		out = append(out, fmt.Sprintf("%d %s %s", s.ID, s.Name, s.CreatedAt))
	}
	return out
}

// write changes the status of an object as it is now, as a restore does, or
// somebody who forges it.
func write(ctx context.Context, o client.Object, f func(*v1alpha1.RemoteStatus)) {
	GinkgoHelper()
	Eventually(func() error {
		if err := env.Read(ctx, o); err != nil {
			return err
		}
		f(refs.RemoteOf(o))
		return env.Admin.Status().Update(ctx, o)
	}).Should(Succeed())
}
