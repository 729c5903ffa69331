package deletion_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

// serverName is that of every TerdutServer here.
const serverName = "terdut"

// world is one server in the platform team's namespace, and a tenant with one
// team and one of each kind on it. It is made without Gomega: many are made side
// by side.
type world struct {
	platform, tenant string
	server           *v1alpha1.TerdutServer
	peer             *testenv.Peer

	team    *v1alpha1.TerdutTeam
	rule    *v1alpha1.TerdutEscalationRule
	deadman *v1alpha1.TerdutDeadmanSwitch
	source  *v1alpha1.TerdutAlertSource
	// owner owns the four, where something is to.
	owner *corev1.ConfigMap
	// key is the operator's at the moment at which everything was Ready.
	key string
	// reads is how many Secrets the operator had read for the tenant before the
	// deletion.
	reads int
}

// newWorld makes both namespaces and a server that answers.
func newWorld(ctx context.Context) (*world, error) {
	w := &world{}
	var err error
	if w.platform, err = env.Namespace(ctx, "platform", nil); err != nil {
		return nil, err
	}
	if w.tenant, err = env.Namespace(ctx, "tenant", nil); err != nil {
		return nil, err
	}
	if w.peer, err = env.Network.Serve(w.platform, serverName, refserver.Options{SkipValidation: true}); err != nil {
		return nil, err
	}
	w.server = &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: w.platform, Name: serverName}}
	w.server.Spec.AllowedTeams.Namespaces.From = v1alpha1.FromAll
	return w, nil
}

// install makes the TerdutServer, deployed by the operator or external.
func (w *world) install(ctx context.Context, deployed bool, mode v1alpha1.CredentialsMode) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.platform, Name: "given"}}
	w.server.Spec.Credentials = &v1alpha1.ServerCredentials{Mode: mode}
	if deployed {
		secret.StringData = map[string]string{"password": "opens nothing"}
		w.server.Spec.Database.DSN = "postgres://terdut@db:5432/terdut"
		w.server.Spec.Database.PasswordSecretRef = &v1alpha1.SecretKeyRef{Name: secret.Name, Key: "password"}
	} else {
		_, key, err := w.peer.AddUser("somebody", true)
		if err != nil {
			return err
		}
		secret.StringData = map[string]string{"key": key}
		w.server.Spec.External = &v1alpha1.ServerExternal{
			URL: fmt.Sprintf("http://%s.%s.svc:8080", serverName, w.platform), AdminKeySecretRef: v1alpha1.SecretKeyRef{Name: secret.Name},
		}
	}
	for _, o := range []client.Object{secret, w.server} {
		if err := env.Admin.Create(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// populate makes the team and one of each kind on it.
func (w *world) populate(ctx context.Context, p policy, owned bool) error {
	about := metav1.ObjectMeta{Namespace: w.tenant, Name: "payments"}
	if owned {
		w.owner = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.tenant, Name: "owner"}}
		if err := env.Admin.Create(ctx, w.owner); err != nil {
			return err
		}
		about.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: w.owner.Name, UID: w.owner.UID}}
	}
	of := v1alpha1.LocalRef{Name: about.Name}
	w.team = &v1alpha1.TerdutTeam{ObjectMeta: about, Spec: v1alpha1.TerdutTeamSpec{
		ServerRef: v1alpha1.ServerRef{Namespace: w.platform, Name: serverName}, DisplayName: "Payments",
	}}
	w.rule = &v1alpha1.TerdutEscalationRule{ObjectMeta: about, Spec: v1alpha1.TerdutEscalationRuleSpec{
		TeamRef: of, Levels: []v1alpha1.EscalationLevel{{Timeout: "5m", Targets: []v1alpha1.EscalationTarget{{Kind: v1alpha1.TargetOnCall}}}},
	}}
	w.deadman = &v1alpha1.TerdutDeadmanSwitch{ObjectMeta: about, Spec: v1alpha1.TerdutDeadmanSwitchSpec{
		TeamRef: of, Name: "watchdog", Matcher: "alertname=Watchdog", Timeout: "15m", Severity: "critical",
	}}
	w.source = &v1alpha1.TerdutAlertSource{ObjectMeta: about, Spec: v1alpha1.TerdutAlertSourceSpec{
		TeamRef: of, Name: "alerts", Kind: v1alpha1.AlertSourceAlertmanager,
	}}
	w.setPolicy(p)
	for _, o := range w.objects() {
		if err := env.Admin.Create(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// setPolicy sets the deletion policy of all four.
func (w *world) setPolicy(p policy) {
	to := v1alpha1.DeletionPolicy(p)
	w.team.Spec.DeletionPolicy, w.rule.Spec.DeletionPolicy = to, to
	w.deadman.Spec.DeletionPolicy, w.source.Spec.DeletionPolicy = to, to
}

// objects are the team and what belongs to it, in the order of kinds.
func (w *world) objects() []client.Object {
	return append([]client.Object{w.team}, w.children()...)
}

func (w *world) children() []client.Object { return []client.Object{w.rule, w.deadman, w.source} }

// ready waits until the operator has its key and everything is on the server.
func (w *world) ready(ctx context.Context) error {
	err := until(ctx, "the server and what lives on it to be Ready", func(ctx context.Context) (bool, error) {
		for _, o := range append(w.objects(), w.server) {
			if err := read(ctx, o); err != nil || !isReady(o) {
				return false, client.IgnoreNotFound(err) // the cache may not have it yet
			}
		}
		return w.mode() != "" && (w.mode() != v1alpha1.CredentialsScoped || w.team.Status.Credentials != nil), nil
	})
	if err != nil {
		return fmt.Errorf("%w: %s", err, w.describe())
	}
	secret := &corev1.Secret{}
	err = env.Admin.Get(ctx, types.NamespacedName{Namespace: w.platform, Name: v1alpha1.CredentialsSecretName(serverName)}, secret)
	w.key = string(secret.Data[v1alpha1.CredentialsKey])
	return err
}

// mode is what the tenants get; empty while that is not known.
func (w *world) mode() v1alpha1.CredentialsMode {
	if w.server.Status.Credentials == nil {
		return ""
	}
	return w.server.Status.Credentials.Mode
}

func isReady(o client.Object) bool {
	c := meta.FindStatusCondition(steps.Conditions(o), v1alpha1.ConditionReady)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == o.GetGeneration()
}

// describe is what all conditions say, for the message of a failure.
func (w *world) describe() string {
	text := ""
	for _, o := range append(w.objects(), w.server) {
		for _, c := range steps.Conditions(o) {
			text += fmt.Sprintf("\n  %T: %s=%s %s: %s", o, c.Type, c.Status, c.Reason, c.Message)
		}
	}
	return text
}

// read reads an object out of a cache of its own kind of client, so that
// hundreds of worlds can be looked at without a load on the API server.
func read(ctx context.Context, o client.Object) error {
	return seen.Get(ctx, client.ObjectKeyFromObject(o), o)
}

// patience bounds every wait; poll is the pause between two looks.
const (
	patience = 2 * time.Minute
	poll     = 100 * time.Millisecond
)

// errTooLong is the end of a wait.
var errTooLong = errors.New("waited too long")

// until looks until it holds.
func until(ctx context.Context, what string, holds wait.ConditionWithContextFunc) error {
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, holds)
	if wait.Interrupted(err) {
		return fmt.Errorf("%w for %s", errTooLong, what)
	}
	if err != nil {
		return fmt.Errorf("wait for %s: %w", what, err)
	}
	return nil
}
