package adoption_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
)

// allowed is the label that the servers here ask of a namespace.
const allowed = "terdut.ryuvia.com/allowed"

// install is one server in the platform team's namespace, a tenant that it
// admits, and an operator.
type install struct {
	platform, tenant string
	server           *v1alpha1.TerdutServer
	peer             *testenv.Peer
	stop             func()
}

// newInstall makes an install and waits until the operator has its key.
func newInstall(ctx context.Context, options refserver.Options) *install {
	GinkgoHelper()
	i := &install{}
	i.platform = namespace(ctx, "platform")
	i.tenant = namespace(ctx, "tenant")
	var err error
	i.peer, err = env.Network.Serve(i.platform, "terdut", options)
	Expect(err).NotTo(HaveOccurred())
	create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: i.platform, Name: "db"}, Data: map[string][]byte{"password": []byte("opens nothing")},
	})
	i.server = &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: i.platform, Name: "terdut"}}
	i.server.Spec.Database.DSN = "postgres://terdut@db:5432/terdut"
	i.server.Spec.Database.PasswordSecretRef = &v1alpha1.SecretKeyRef{Name: "db", Key: "password"}
	i.server.Spec.AllowedTeams.Namespaces = v1alpha1.AllowedNamespaces{
		From: v1alpha1.FromSelector, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{allowed: "true"}},
	}
	create(ctx, i.server)
	i.start()
	eventuallyReady(ctx, i.server)
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

func namespace(ctx context.Context, prefix string) string {
	GinkgoHelper()
	name, err := env.Namespace(ctx, prefix, map[string]string{allowed: "true"})
	Expect(err).NotTo(HaveOccurred())
	return name
}

// writes are the calls since the last ResetRequests that can change a team or
// something on one, as "METHOD path template".
func (i *install) writes() []string {
	var out []string
	for _, call := range i.peer.Calls("POST", "PUT", "PATCH", "DELETE") {
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
		for _, call := range i.peer.Calls("GET") {
			if call == "GET /api/teams" {
				n++
			}
		}
		return n
	}
	before := looks()
	Eventually(looks).Should(BeNumerically(">=", before+3))
}

func (i *install) teamIn(namespace, displayName string) *v1alpha1.TerdutTeam {
	t := &v1alpha1.TerdutTeam{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "team-"}}
	t.Spec.ServerRef = v1alpha1.ServerRef{Name: i.server.Name, Namespace: i.platform}
	t.Spec.DisplayName = displayName
	return t
}

// readyTeam makes a team in a namespace and waits for it.
func (i *install) readyTeam(ctx context.Context, namespace, displayName string) *v1alpha1.TerdutTeam {
	GinkgoHelper()
	t := i.teamIn(namespace, displayName)
	create(ctx, t)
	eventuallyReady(ctx, t)
	return t
}

func rule(t *v1alpha1.TerdutTeam, name string) *v1alpha1.TerdutEscalationRule {
	r := &v1alpha1.TerdutEscalationRule{ObjectMeta: metav1.ObjectMeta{Namespace: t.Namespace, Name: name}}
	r.Spec.TeamRef.Name, r.Spec.RepeatCount = t.Name, 2
	r.Spec.Levels = []v1alpha1.EscalationLevel{{Timeout: "5m", Targets: []v1alpha1.EscalationTarget{{Kind: v1alpha1.TargetOnCall}}}}
	return r
}

func deadman(t *v1alpha1.TerdutTeam, name string) *v1alpha1.TerdutDeadmanSwitch {
	s := &v1alpha1.TerdutDeadmanSwitch{ObjectMeta: metav1.ObjectMeta{Namespace: t.Namespace, Name: name}}
	s.Spec = v1alpha1.TerdutDeadmanSwitchSpec{
		TeamRef: v1alpha1.LocalRef{Name: t.Name}, Name: name, Matcher: "alertname=Watchdog", Timeout: "15m", Severity: "critical",
	}
	return s
}

func source(t *v1alpha1.TerdutTeam, name string) *v1alpha1.TerdutAlertSource {
	s := &v1alpha1.TerdutAlertSource{ObjectMeta: metav1.ObjectMeta{Namespace: t.Namespace, Name: name}}
	s.Spec = v1alpha1.TerdutAlertSourceSpec{
		TeamRef: v1alpha1.LocalRef{Name: t.Name}, Name: name, Kind: v1alpha1.AlertSourceAlertmanager,
	}
	return s
}

// all is one of each kind.
type all struct {
	team    *v1alpha1.TerdutTeam
	rule    *v1alpha1.TerdutEscalationRule
	deadman *v1alpha1.TerdutDeadmanSwitch
	source  *v1alpha1.TerdutAlertSource
	objects []client.Object
}

// of makes one of each kind, with those names on the server, and does not wait.
func (i *install) of(ctx context.Context, team, names string) *all {
	GinkgoHelper()
	a := &all{team: i.teamIn(i.tenant, team)}
	create(ctx, a.team)
	a.rule, a.deadman, a.source = rule(a.team, "rule"), deadman(a.team, "watchdog"), source(a.team, "alerts")
	a.deadman.Spec.Name, a.source.Spec.Name = names, names
	a.objects = []client.Object{a.team, a.rule, a.deadman, a.source}
	create(ctx, a.objects[1:]...)
	return a
}

// full is of, and waits.
func (i *install) full(ctx context.Context) *all {
	GinkgoHelper()
	a := i.of(ctx, "Payments", "watch")
	eventuallyReady(ctx, a.objects...)
	return a
}

// stands is everything that stands on the server.
func (i *install) stands() string {
	var out strings.Builder
	for _, t := range i.peer.Teams() {
		fmt.Fprintf(&out, "%+v %+v %+v %+v\n", t, i.peer.Escalation(t.ID), switchesOf(i, t.ID), i.peer.Integrations(t.ID))
	}
	return out.String()
}

func switchesOf(i *install, team int64) (out []string) {
	for _, s := range i.peer.Switches(team) {
		out = append(out, fmt.Sprintf("%d %s %s", s.ID, s.Name, s.CreatedAt))
	}
	return out
}

func create(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(env.Admin.Create(ctx, o)).To(Succeed())
	}
}

// change changes an object as it is now.
func change[T client.Object](ctx context.Context, o T, f func(T)) {
	GinkgoHelper()
	Eventually(func() error {
		if err := read(ctx, o); err != nil {
			return err
		}
		f(o)
		return env.Admin.Update(ctx, o)
	}).Should(Succeed())
}

// write changes the status of an object as it is now, as a restore does, or
// somebody who forges it.
func write(ctx context.Context, o client.Object, f func(*v1alpha1.RemoteStatus)) {
	GinkgoHelper()
	Eventually(func() error {
		if err := read(ctx, o); err != nil {
			return err
		}
		f(remoteOf(o))
		return env.Admin.Status().Update(ctx, o)
	}).Should(Succeed())
}

func read(ctx context.Context, o client.Object) error {
	return env.Admin.Get(ctx, client.ObjectKeyFromObject(o), o)
}

func remove(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(env.Admin.Delete(ctx, o)).To(Succeed())
	}
}

func eventuallyGone(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Eventually(func() bool { return apierrors.IsNotFound(read(ctx, o)) }).Should(BeTrue(), "%T %s", o, o.GetName())
	}
}

func remoteOf(o client.Object) *v1alpha1.RemoteStatus {
	switch o := o.(type) {
	case *v1alpha1.TerdutTeam:
		return &o.Status.RemoteStatus
	case *v1alpha1.TerdutEscalationRule:
		return &o.Status.RemoteStatus
	case *v1alpha1.TerdutDeadmanSwitch:
		return &o.Status.RemoteStatus
	case *v1alpha1.TerdutAlertSource:
		return &o.Status.RemoteStatus
	default:
		panic(fmt.Sprintf("%T does not live on a server", o))
	}
}

func conditions(o client.Object) []metav1.Condition {
	if server, ok := o.(*v1alpha1.TerdutServer); ok {
		return server.Status.Conditions
	}
	return remoteOf(o).Conditions
}

// told is a condition as "Status Reason", of the generation that is there now;
// empty when it is missing or speaks of another generation.
func told(ctx context.Context, o client.Object, conditionType string) func() string {
	return func() string {
		if err := read(ctx, o); err != nil {
			return err.Error()
		}
		c := meta.FindStatusCondition(conditions(o), conditionType)
		if c == nil || c.ObservedGeneration != o.GetGeneration() {
			return ""
		}
		return string(c.Status) + " " + c.Reason
	}
}

// message is what a condition says.
func message(o client.Object, conditionType string) string {
	if c := meta.FindStatusCondition(conditions(o), conditionType); c != nil {
		return c.Message
	}
	return ""
}

func eventuallyTold(ctx context.Context, o client.Object, conditionType, want string) {
	GinkgoHelper()
	Eventually(told(ctx, o, conditionType)).Should(Equal(want), func() string {
		return fmt.Sprintf("%T %s: %+v", o, o.GetName(), conditions(o))
	})
}

func eventuallyReady(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		eventuallyTold(ctx, o, v1alpha1.ConditionReady, "True Ready")
	}
}

// eventuallyEvent waits for an Event, "Type Reason: note", about an object.
func eventuallyEvent(ctx context.Context, o client.Object, want gomegatypes.GomegaMatcher) {
	GinkgoHelper()
	Eventually(func() ([]string, error) { return env.Events(ctx, o) }).Should(ContainElement(want))
}
