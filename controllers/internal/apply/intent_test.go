package apply

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
)

func TestHash(t *testing.T) {
	first := wanted(t, wantedDeployment).hash
	if len(first) != hashLength {
		t.Errorf("hash %q has %d digits, want %d", first, len(first), hashLength)
	}
	shuffled := strings.Replace(wantedDeployment, "      - name: server\n        image: demo:1\n", "      - image: demo:1\n        name: server\n", 1)
	if shuffled == wantedDeployment {
		t.Fatal("nothing was shuffled")
	}
	if got := wanted(t, shuffled).hash; got != first {
		t.Errorf("the order of keys changes the hash: %s and %s", first, got)
	}
	if got := wanted(t, strings.Replace(wantedDeployment, "demo:1", "demo:2", 1)).hash; got == first {
		t.Error("another image has the same hash")
	}
	reference, err := testEngine().OwnerReference(testOwner())
	if err != nil {
		t.Fatal(err)
	}
	builders := appsv1ac.Deployment("demo", "ns").WithOwnerReferences(reference).WithSpec(appsv1ac.DeploymentSpec().WithReplicas(1).
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(map[string]string{"a": "b"})).
		WithTemplate(corev1ac.PodTemplateSpec().WithLabels(map[string]string{"a": "b"}).WithSpec(corev1ac.PodSpec().
			WithContainers(corev1ac.Container().WithName("server").WithImage("demo:1").
				WithEnv(corev1ac.EnvVar().WithName("MODE").WithValue("quiet"))))))
	want, err := testEngine().newIntent(testOwner(), builders)
	if err != nil {
		t.Fatal(err)
	}
	if want.hash != first {
		t.Errorf("typed builders have hash %s, the same intent as YAML %s", want.hash, first)
	}
	// It stands in statuses: another way to compute it would hide the drift of one pass.
	if recorded := "8b562cda35c528f6"; first != recorded {
		t.Errorf("hash = %q, want %q: records of earlier versions no longer match", first, recorded)
	}
}

// The hash of a Secret stands in a status that many may read.
func TestHashOfSecret(t *testing.T) {
	text := `{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: ns, ownerReferences: [{apiVersion: v1, kind: ConfigMap,
		name: owner, uid: 11111111-0000-4000-8000-000000000000, controller: true}]}, data: {key: YWFhYQ==}}`
	first := wanted(t, text).hash
	if got := wanted(t, strings.Replace(text, "YWFhYQ==", "YmJiYg==", 1)).hash; got != first {
		t.Error("the hash depends on a value")
	}
	if got := wanted(t, strings.Replace(text, "{key:", "{other:", 1)).hash; got == first {
		t.Error("the hash does not depend on the names of the values")
	}
}

func TestRefusedIntents(t *testing.T) {
	second := "        - {name: MODE, value: quiet}\n"
	tests := map[string]struct {
		text string
		want []string
	}{
		"duplicate list key":     {wantedDeployment + second, []string{"Deployment ns/demo", "env", "duplicate", `name="MODE"`}},
		"unknown field":          {strings.Replace(wantedDeployment, "replicas: 1", "replicaz: 1", 1), []string{"replicaz"}},
		"another namespace":      {strings.Replace(wantedDeployment, "namespace: ns", "namespace: other", 1), []string{`namespace "ns"`}},
		"no name":                {strings.Replace(wantedDeployment, "name: demo", "generateName: demo", 1), []string{"metadata.name"}},
		"somebody else's child":  {strings.Replace(wantedDeployment, "uid: 1", "uid: 3", 1), []string{"owner reference", "OwnerReference"}},
		"not controlled":         {strings.Replace(wantedDeployment, "controller: true", "controller: false", 1), []string{"owner reference"}},
		"no kind":                {strings.Replace(wantedDeployment, "kind: Deployment", "", 1), []string{"Kind"}},
		"a value of a Secret":    {"{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: ns}, data: {key: [canary]}}", []string{"does not fit"}},
		"a Secret of wrong type": {"{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: ns}, canary: 1}", []string{"does not fit"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := testEngine().newIntent(testOwner(), rendered(t, test.text))
			if err == nil {
				t.Fatal("it is accepted")
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not contain %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("error %q shows a value", err)
			}
		})
	}
}

func TestBeginRefusesTheSameChildTwice(t *testing.T) {
	children := []runtime.ApplyConfiguration{rendered(t, wantedDeployment), rendered(t, wantedDeployment)}
	if _, err := testEngine().begin(testOwner(), nil, children); err == nil || !strings.Contains(err.Error(), "rendered twice") {
		t.Errorf("begin = %v, want rendered twice", err)
	}
}

func TestOwnerReferenceNeedsUID(t *testing.T) {
	owner := testOwner()
	owner.UID = ""
	if _, err := testEngine().OwnerReference(owner); err == nil || !strings.Contains(err.Error(), "no UID") {
		t.Errorf("OwnerReference = %v, want no UID", err)
	}
}

func TestRequestError(t *testing.T) {
	key := Key{Kind: "Deployment", Namespace: "ns", Name: "demo"}
	resource := corev1.Resource("x")
	withCause := func(code int32, reason metav1.StatusReason, cause metav1.StatusCause) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Code: code, Reason: reason, Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{cause}},
		}}
	}
	tests := map[string]struct {
		err   error
		again bool
	}{
		"another version or absent": {apierrors.NewConflict(resource, "demo", errors.New("uid mismatch")), true},
		"made again":                {withCause(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, metav1.StatusCause{Field: "metadata.uid"}), true},
		"invalid":                   {withCause(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, metav1.StatusCause{Field: "spec.replicas"}), false},
		"fields of others": {withCause(http.StatusConflict, metav1.StatusReasonConflict,
			metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.replicas"}), false},
		"forbidden": {apierrors.NewForbidden(resource, "demo", errors.New("no")), false},
		"no answer": {errors.New("connection refused"), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := requestError("apply", key, test.err)
			if IsLookAgain(got) != test.again {
				t.Errorf("requestError = %v, look again %t, want %t", got, IsLookAgain(got), test.again)
			}
			if !errors.Is(got, test.err) || !strings.Contains(got.Error(), "Deployment ns/demo") {
				t.Errorf("requestError = %v: it hides the answer or the object", got)
			}
		})
	}
	if requestError("apply", key, nil) != nil {
		t.Error("no error became one")
	}
}
