package server

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
)

// podIn is a pod whose container is in that state.
func podIn(name string, state corev1.ContainerStatus) corev1.Pod {
	state.Name = containerName
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "oncall", Name: name}}
	pod.Spec.Containers = []corev1.Container{{Name: containerName, Image: "registry.example.com/terdut-server:v1"}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{state}
	return pod
}

func waiting(reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
}

func ended(code int32, reason string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: "the log says pa55word"}}
}

func unschedulable(message string) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message,
	}}
	return pod
}

func TestPodTroubles(t *testing.T) {
	long := strings.Repeat("x", 500)
	for name, c := range map[string]struct {
		pods         []corev1.Pod
		reason, says string
	}{
		"starting": {[]corev1.Pod{podIn("p", waiting("ContainerCreating", ""))}, v1alpha1.ReasonPodNotReady, "0 of 2 pods are ready"},
		"image": {[]corev1.Pod{podIn("p", waiting("ImagePullBackOff", "https://blobs?X-Amz-Signature=pa55word"))},
			v1alpha1.ReasonImagePullFailed, "image registry.example.com/terdut-server:v1 cannot be pulled"},
		"config": {[]corev1.Pod{podIn("p", waiting("CreateContainerConfigError", "couldn't find key pw in Secret oncall/db\n"+long))},
			v1alpha1.ReasonPodConfigInvalid, "container terdut-server of pod p cannot be made: couldn't find key pw in Secret oncall/db xxx"},
		"crash": {[]corev1.Pod{podIn("p", corev1.ContainerStatus{
			RestartCount: 1, State: waiting("CrashLoopBackOff", "back-off 10s").State, LastTerminationState: ended(3, "Error"),
		})}, v1alpha1.ReasonCrashLooping, "ends with exit code 3 again and again"},
		"crash between": {[]corev1.Pod{podIn("p", corev1.ContainerStatus{
			RestartCount: 4, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, LastTerminationState: ended(137, "OOMKilled"),
		})}, v1alpha1.ReasonCrashLooping, "exit code 137 (OOMKilled)"},
		"ended once":    {[]corev1.Pod{podIn("p", corev1.ContainerStatus{State: ended(1, "Error")})}, v1alpha1.ReasonPodNotReady, "0 of 2"},
		"unschedulable": {[]corev1.Pod{unschedulable("0/3 nodes are available: " + long)}, v1alpha1.ReasonUnschedulable, "no node takes pod p: 0/3 nodes"},
		"two": {[]corev1.Pod{unschedulable("0/3"), podIn("p", waiting("ErrImagePull", ""))},
			v1alpha1.ReasonImagePullFailed, "cannot be pulled"},
		"ending": {[]corev1.Pod{func() corev1.Pod {
			pod := podIn("p", waiting("ErrImagePull", ""))
			pod.DeletionTimestamp = &noon
			return pod
		}()}, v1alpha1.ReasonPodNotReady, "0 of 2"},
	} {
		got := available(pods(2, func(d *appsv1.Deployment) { d.Status.ReadyReplicas, d.Status.AvailableReplicas = 0, 0 }), c.pods)
		if got.Reason != c.reason || !strings.Contains(got.Message, c.says) {
			t.Errorf("%s: %s %q, want %s %q", name, got.Reason, got.Message, c.reason, c.says)
		}
		if strings.Contains(got.Message, "pa55word") || strings.Contains(got.Message, "\n") || len(got.Message) > 450 {
			t.Errorf("%s: %q", name, got.Message)
		}
	}
}

// A refused pod has another name at each try, and the status must not change
// with it.
func TestRefusedPods(t *testing.T) {
	for message, want := range map[string]string{
		`pods "terdut-7d9f-x2x4z" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1`: "QuotaExceeded " +
			"a quota of the namespace does not admit the pods: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1",
		`pods "terdut-7d9f-k8k9w" is forbidden: violates PodSecurity "restricted:latest": privileged`: "PodsRefused " +
			`the cluster does not admit the pods: violates PodSecurity "restricted:latest": privileged`,
	} {
		got := available(pods(1, func(d *appsv1.Deployment) {
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: message}}
		}), nil)
		if text := got.Reason + " " + got.Message; text != want {
			t.Errorf("got %q, want %q", text, want)
		}
	}
}

func TestRolloutTellsProgress(t *testing.T) {
	for want, change := range map[string]func(*appsv1.Deployment){
		"1 of 2 pods updated": func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 },
		"2 of 2 pods updated; pods of before are still ending": func(d *appsv1.Deployment) { d.Status.Replicas = 3 },
	} {
		if got := available(pods(2, change), nil); got.Message != want || got.Reason != v1alpha1.ReasonRolloutInProgress {
			t.Errorf("%s %q, want %q", got.Reason, got.Message, want)
		}
	}
}

func routedServer() *v1alpha1.TerdutServer {
	server := observed(1)
	server.Spec.Networking = v1alpha1.ServerNetworking{Hostname: "terdut.example.com", GatewayListener: "gateways/public/https"}
	return server
}

// parent is an entry of an HTTPRoute's status.
func parent(generation int64, accepted, resolved string) map[string]any {
	is := func(kind, status string) any {
		return map[string]any{"type": kind, "status": status, "reason": "Because", "message": "of it", "observedGeneration": generation}
	}
	return map[string]any{"controllerName": "example.com/gateway", "conditions": []any{is("Accepted", accepted), is("ResolvedRefs", resolved)}}
}

func routeWith(parents ...any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"generation": int64(2)}, "status": map[string]any{"parents": parents},
	}}
}

func TestRouteReady(t *testing.T) {
	for name, c := range map[string]struct {
		route        *Route
		reason, says string
	}{
		"not looked at": {nil, v1alpha1.ReasonProgressing, "not looked at"},
		"unclaimed":     {&Route{Served: true}, v1alpha1.ReasonWaitingForServer, "once the server has an administrator"},
		"no kind":       {&Route{Claimed: true}, v1alpha1.ReasonCRDNotInstalled, "install the Gateway API"},
		"not made":      {&Route{Claimed: true, Served: true}, v1alpha1.ReasonProgressing, "not made yet"},
		"nobody":        {&Route{true, true, routeWith()}, v1alpha1.ReasonRouteNotAccepted, "check that Gateway gateways/public, listener https exists"},
		"good":          {&Route{true, true, routeWith(parent(2, "True", "True"))}, v1alpha1.ReasonRouteAccepted, "routes terdut.example.com"},
		"one good":      {&Route{true, true, routeWith(parent(2, "False", "True"), parent(2, "True", "True"))}, v1alpha1.ReasonRouteAccepted, ""},
		"old":           {&Route{true, true, routeWith(parent(1, "True", "True"))}, v1alpha1.ReasonRouteNotAccepted, "has not told Accepted"},
		"refused":       {&Route{true, true, routeWith(parent(2, "False", "True"))}, v1alpha1.ReasonRouteNotAccepted, "Because: of it"},
		"no backend":    {&Route{true, true, routeWith(parent(2, "True", "False"))}, v1alpha1.ReasonRouteNotAccepted, "Because: of it"},
	} {
		got := routeReady(routedServer(), Seen{Route: c.route})
		if len(got) != 1 || got[0].Reason != c.reason || !strings.Contains(got[0].Message, c.says) {
			t.Errorf("%s: %+v, want %s %q", name, got, c.reason, c.says)
		}
	}
	if got := routeReady(observed(1), Seen{}); got != nil {
		t.Errorf("no route is wanted: %+v", got)
	}
}

func TestClaimed(t *testing.T) {
	for reason, want := range map[string]bool{
		v1alpha1.ReasonWaitingForServer: false, v1alpha1.ReasonServerUnreachable: false, v1alpha1.ReasonNameConflict: false,
		v1alpha1.ReasonAlreadyBootstrapped: true, v1alpha1.ReasonBootstrapKeyLost: true, v1alpha1.ReasonKeyNotAccepted: true,
	} {
		s := &v1alpha1.TerdutServerStatus{Conditions: []metav1.Condition{{
			Type: v1alpha1.ConditionBootstrapped, Status: metav1.ConditionFalse, Reason: reason,
		}}}
		if claimed(s) != want {
			t.Errorf("%s: claimed is %v", reason, !want)
		}
		s.Children = []v1alpha1.ChildRecord{{Kind: "HTTPRoute", Name: "terdut"}}
		if !claimed(s) {
			t.Errorf("%s: a route that was made stays", reason)
		}
	}
}

func TestFieldConditions(t *testing.T) {
	field := func(path, manager string) apply.Field {
		return apply.Field{Key: apply.Key{Kind: "Deployment", Name: "terdut"}, FieldDrift: apply.FieldDrift{Path: path, Manager: manager, Time: noon}}
	}
	server := observed(1)
	seen := Seen{Fields: &Fields{Ceded: []apply.Field{field("b", "vpa"), field("a", "vpa")}, Contested: []apply.Field{field("c", "")}}}
	first := Observe(server, seen, nil, noon)
	var got []string
	for _, e := range fieldEvents(nil, first.Conditions) {
		got = append(got, e.Reason+" "+e.Message)
	}
	text := strings.Join(got, "\n")
	for _, want := range []string{"FieldsCeded ", "a of Deployment terdut (vpa); b of Deployment terdut (vpa)", "FieldsContested ", "c of Deployment terdut (an unknown manager)"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	server.Status = first
	if again := Observe(server, seen, nil, noon); len(fieldEvents(first.Conditions, again.Conditions)) > 0 {
		t.Error("told twice")
	}
	if unseen := Observe(server, Seen{}, nil, noon); len(unseen.Conditions) != len(first.Conditions) {
		t.Errorf("a pass that did not look dropped what was seen: %+v", unseen.Conditions)
	}
	for _, c := range Observe(server, Seen{Fields: &Fields{}}, nil, noon).Conditions {
		if c.Type == v1alpha1.ConditionCeded || c.Type == v1alpha1.ConditionContested {
			t.Errorf("%s stands for nothing", c.Type)
		}
	}
}
