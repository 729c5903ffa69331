package story

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
	"git.ryuvia.com/niklas/terdut-operator/test/demo/screen"
	"git.ryuvia.com/niklas/terdut-operator/test/demo/stage"
)

// What the sample calls its objects.
const (
	sample = "config/samples/cross-namespace"

	platform   = "platform-oncall"
	serverName = "terdut"
	payments   = "payments"
	teamName   = "payments-team"
	ruleName   = "payments-escalation"
	switchName = "payments-watchdog"
	sourceName = "payments-alertmanager"
	displayed  = "Payments"
	username   = "alice"
)

// patience is how long one change may take to show its effect. The operator looks at everything every five seconds; the
// rest is room for a busy machine.
const patience = 60 * time.Second

// world is what the steps share.
type world struct {
	*stage.Stage
	*screen.Screen

	// api is the server's API, with the operator's own key; nil before the server has one.
	api *terdutapi.Client
	// inside reaches Services by name.
	inside *http.Client
	// aliceID and teamID are IDs on the server.
	aliceID, teamID int64
}

// await shows what is waited for, and waits until check has no complaint.
func (w *world) await(ctx context.Context, what string, check func(context.Context) error) error {
	return w.During(what, func() error { return stage.Until(ctx, patience, check) })
}

// object is one custom resource, as far as the demo looks at it.
type object struct {
	kind       string
	obj        client.Object
	observed   int64
	conditions []metav1.Condition
	id         int64
}

// ready is the Ready condition, empty before there is one.
func (o object) ready() metav1.Condition {
	if c := meta.FindStatusCondition(o.conditions, v1alpha1.ConditionReady); c != nil {
		return *c
	}
	return metav1.Condition{Type: v1alpha1.ConditionReady, Status: "-", Reason: "-"}
}

func (o object) String() string {
	return o.kind + " " + o.obj.GetNamespace() + "/" + o.obj.GetName()
}

func (o object) shownID() string {
	if o.id == 0 {
		return "-"
	}
	return strconv.FormatInt(o.id, 10)
}

// settled complains unless the current generation was applied and is ready.
func (o object) settled() error {
	c := o.ready()
	if c.Status != metav1.ConditionTrue {
		return fmt.Errorf("%s is not ready: %s: %s", o, c.Reason, c.Message)
	}
	if o.observed != o.obj.GetGeneration() {
		return fmt.Errorf("%s: generation %d is applied, want %d", o, o.observed, o.obj.GetGeneration())
	}
	return nil
}

// objects reads the five custom resources of the sample.
func (w *world) objects(ctx context.Context) ([]object, error) {
	server, team, rule := &v1alpha1.TerdutServer{}, &v1alpha1.TerdutTeam{}, &v1alpha1.TerdutEscalationRule{}
	deadman, source := &v1alpha1.TerdutDeadmanSwitch{}, &v1alpha1.TerdutAlertSource{}
	for _, want := range []struct {
		namespace, name string
		obj             client.Object
	}{
		{platform, serverName, server}, {payments, teamName, team}, {payments, ruleName, rule},
		{payments, switchName, deadman}, {payments, sourceName, source},
	} {
		if err := w.get(ctx, want.namespace, want.name, want.obj); err != nil {
			return nil, err
		}
	}
	return []object{
		{"TerdutServer", server, server.Status.ObservedGeneration, server.Status.Conditions, 0},
		remote("TerdutTeam", team, &team.Status.RemoteStatus),
		remote("TerdutEscalationRule", rule, &rule.Status.RemoteStatus),
		remote("TerdutDeadmanSwitch", deadman, &deadman.Status.RemoteStatus),
		remote("TerdutAlertSource", source, &source.Status.RemoteStatus),
	}, nil
}

func remote(kind string, obj client.Object, s *v1alpha1.RemoteStatus) object {
	o := object{kind: kind, obj: obj, observed: s.ObservedGeneration, conditions: s.Conditions}
	if s.Remote != nil {
		o.id = s.Remote.ID
	}
	return o
}

func (w *world) get(ctx context.Context, namespace, name string, obj client.Object) error {
	if err := w.Kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, obj); err != nil {
		return fmt.Errorf("read %s/%s: %w", namespace, name, err)
	}
	return nil
}

// allSettled complains about the first of the five that is not ready.
func (w *world) allSettled(ctx context.Context) error {
	all, err := w.objects(ctx)
	if err != nil {
		return err
	}
	for _, o := range all {
		if err = o.settled(); err != nil {
			return err
		}
	}
	return nil
}

// shows complains unless the object that at names has this reason in its condition Ready.
func (w *world) shows(ctx context.Context, kind, reason string) error {
	all, err := w.objects(ctx)
	if err != nil {
		return err
	}
	for _, o := range all {
		if c := o.ready(); o.kind == kind && (c.Reason != reason || c.ObservedGeneration != o.obj.GetGeneration()) {
			return fmt.Errorf("%s shows %s: %s", o, c.Reason, c.Message)
		}
	}
	return nil
}

// tell shows the condition Ready of one object.
func (w *world) tell(ctx context.Context, kind string) error {
	all, err := w.objects(ctx)
	if err != nil {
		return err
	}
	for _, o := range all {
		if c := o.ready(); o.kind == kind {
			w.Line("   %s: Ready=%s, %s: %s", o, c.Status, c.Reason, c.Message)
		}
	}
	return nil
}

// connect opens the server's API with the key that the operator has stored. Nothing shows the key.
func (w *world) connect(ctx context.Context) error {
	secret := &corev1.Secret{}
	if err := w.get(ctx, platform, v1alpha1.CredentialsSecretName(serverName), secret); err != nil {
		return err
	}
	w.inside = &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyURL(w.Node.ProxyURL())},
		Timeout:   30 * time.Second,
	}
	api, err := terdutapi.New(address,
		terdutapi.WithHTTPClient(w.inside),
		terdutapi.WithAPIKey(string(secret.Data[v1alpha1.CredentialsKey])))
	if err != nil {
		return fmt.Errorf("open the server's API: %w", err)
	}
	w.api = api
	return nil
}

// address is where the server's Service is.
const address = "http://" + serverName + "." + platform + ".svc:8080"
