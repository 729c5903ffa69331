package server

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
)

var noon = metav1.NewTime(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))

// pods is a Deployment of generation 2 that wants as many pods as it says.
func pods(want int32, change func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "oncall", Name: "terdut", Generation: 2}}
	d.Spec.Replicas = ptr.To(want)
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: 2, Replicas: want, UpdatedReplicas: want, ReadyReplicas: want, AvailableReplicas: want,
	}
	if change != nil {
		change(d)
	}
	return d
}

func TestAvailable(t *testing.T) {
	for name, c := range map[string]struct {
		deployment *appsv1.Deployment
		want       string
		serves     bool
	}{
		"none":     {nil, "False RolloutInProgress", false},
		"all":      {pods(1, nil), "True Available", true},
		"scaled 0": {pods(0, nil), "True Available", false},
		"changed":  {pods(1, func(d *appsv1.Deployment) { d.Generation = 3 }), "False RolloutInProgress", false},
		"deleted": {pods(1, func(d *appsv1.Deployment) { d.DeletionTimestamp = &noon }),
			"False RolloutInProgress", false},
		"not ready": {pods(1, func(d *appsv1.Deployment) { d.Status.ReadyReplicas, d.Status.AvailableReplicas = 0, 0 }),
			"False PodNotReady", false},
		"one of two": {pods(2, func(d *appsv1.Deployment) { d.Status.ReadyReplicas, d.Status.AvailableReplicas = 1, 1 }),
			"False PodNotReady", true},
		"an old pod": {pods(1, func(d *appsv1.Deployment) { d.Status.Replicas = 2 }), "False RolloutInProgress", false},
		"no new pod": {pods(1, func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 0 }), "False RolloutInProgress", false},
		"deadline": {pods(1, func(d *appsv1.Deployment) {
			d.Status.ReadyReplicas, d.Status.AvailableReplicas = 0, 0
			d.Status.Conditions = []appsv1.DeploymentCondition{{
				Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Message: "deadline",
			}}
		}), "False PodNotReady", false},
		"no quota": {pods(1, func(d *appsv1.Deployment) {
			d.Status.Conditions = []appsv1.DeploymentCondition{{
				Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota",
			}}
		}), "False QuotaExceeded", true},
	} {
		got := available(c.deployment, nil)
		if text := string(got.Status) + " " + got.Reason; text != c.want {
			t.Errorf("%s: %s, want %s (%s)", name, text, c.want, got.Message)
		}
		if got.Message == "" {
			t.Errorf("%s: no message", name)
		}
		if serves(c.deployment) != c.serves {
			t.Errorf("%s: serves is %v", name, !c.serves)
		}
	}
}

func observed(generation int64) *v1alpha1.TerdutServer {
	server := &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: "oncall", Name: "terdut", Generation: generation}}
	server.Status.ObservedGeneration = -1
	return server
}

func whole() Seen {
	return Seen{
		Database: &Database{DSN: "postgres://u@h/d"}, Deployment: pods(1, nil), Converged: true,
		Records:  []apply.Record{{Kind: "Service", Name: "terdut", UID: "1", Intent: "a"}},
		Identity: &Identity{Reason: v1alpha1.ReasonBootstrapped}, Teams: 3,
	}
}

func TestObserveSettledIsAFixedPoint(t *testing.T) {
	server := observed(4)
	server.Status = Observe(server, whole(), nil, noon)
	if server.Status.ObservedGeneration != 4 || !meta.IsStatusConditionTrue(server.Status.Conditions, v1alpha1.ConditionReady) {
		t.Fatalf("not ready: %+v", server.Status)
	}
	again := Observe(server, whole(), nil, metav1.NewTime(noon.Add(time.Hour)))
	if !equality.Semantic.DeepEqual(server.Status, again) {
		t.Errorf("a second look says something else:\n%+v\n%+v", server.Status, again)
	}
}

// TestObserveNamesAnUnreadableSelector: it admits nobody, and only the server's
// owner can correct it. The server itself works on.
func TestObserveNamesAnUnreadableSelector(t *testing.T) {
	server := observed(4)
	server.Spec.AllowedTeams.Namespaces = v1alpha1.AllowedNamespaces{From: v1alpha1.FromSelector, Selector: &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: "Near"}},
	}}
	server.Status = Observe(server, whole(), nil, noon)
	stalled := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Reason != v1alpha1.ReasonInvalid || !strings.Contains(stalled.Message, "spec.allowedTeams.namespaces.selector") {
		t.Errorf("nobody is told: %+v", server.Status.Conditions)
	}
	if !meta.IsStatusConditionTrue(server.Status.Conditions, v1alpha1.ConditionReady) {
		t.Error("the server is not ready for what its tenants lack")
	}
	server.Spec.AllowedTeams.Namespaces.Selector.MatchExpressions[0].Operator = metav1.LabelSelectorOpExists
	if next := Observe(server, whole(), nil, noon); meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionStalled) != nil {
		t.Errorf("still told: %+v", next.Conditions)
	}
}

func TestObserveCarriesForwardWhatWasNotSeen(t *testing.T) {
	server := observed(4)
	server.Status = Observe(server, whole(), nil, noon)
	server.Generation = 5
	ending := outcome.Waiting(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonSecretNotFound, "gone")
	next := Observe(server, Seen{Deployment: pods(1, nil), Teams: 3}, ending, noon)
	if next.ObservedGeneration != 4 || len(next.Children) != 1 || next.OperatorCredentialsSecretRef == nil || next.ServiceName == "" {
		t.Errorf("lost something: %+v", next)
	}
	if !meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionBootstrapped) {
		t.Error("the key is not forgotten because the database is not named")
	}
	ready := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReady)
	if ready.Status != metav1.ConditionFalse || ready.Reason != v1alpha1.ReasonSecretNotFound {
		t.Errorf("Ready is %s %s", ready.Status, ready.Reason)
	}
	if meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionStalled) != nil {
		t.Error("waiting is not stalled")
	}
}

func TestObserveIsNotAppliedBeforeTheKey(t *testing.T) {
	seen := whole()
	seen.Identity = nil
	ending := outcome.Refused(v1alpha1.ConditionBootstrapped, v1alpha1.ReasonAlreadyBootstrapped, "set the field")
	next := Observe(observed(1), seen, ending, noon)
	if next.ObservedGeneration != -1 {
		t.Errorf("observedGeneration is %d", next.ObservedGeneration)
	}
	if !meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionStalled) {
		t.Error("not stalled")
	}
}

func TestDriftNamesNobodyItDoesNotKnow(t *testing.T) {
	event := drift("Deployment terdut", []apply.FieldDrift{
		{Path: "spec.replicas", Manager: "kubectl-edit", Operation: "Update", Time: noon},
		{Path: "spec.strategy"},
	})
	const want = "Deployment terdut: spec.replicas, set by kubectl-edit (Update) at 2026-01-02T12:00:00Z; " +
		"spec.strategy, removed or changed by an unknown manager; restored"
	if event.Message != want {
		t.Errorf("got %q\nwant %q", event.Message, want)
	}
	many := drift("x", make([]apply.FieldDrift, 20)).Message
	if !strings.Contains(many, "and 12 more") {
		t.Errorf("got %q", many)
	}
}
