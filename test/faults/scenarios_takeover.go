package faults

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// takeovers are objects, and fields of objects, that somebody else has made.
func takeovers() []Scenario {
	start := []Step{serve(everything), together(apply(namespaces), apply(database), released), together(bootstrapped, handOver)}
	plain, asked := apply(fmt.Sprintf(bare, ownDSN, keyGiven)), apply(fmt.Sprintf(bare, ownDSN, keyGiven+"\n  takeOver: Helm"))
	installed := []Step{serve(everything), together(apply(namespaces), apply(database), apply(fmt.Sprintf(bare, ownDSN, labelled)))}
	return []Scenario{
		{Name: "take-over-a-release", Before: start, Steps: []Step{asked, together(ready(theServer), plain)}, Ends: ready(theServer)},
		{Name: "take-over-refused-first", Before: before(start, plain), Steps: []Step{
			together(says(theServer, "Stalled", "True "+v1alpha1.ReasonNameConflict), asked),
		}, Ends: ready(theServer)},
		{Name: "somebodys-service-goes", Before: []Step{serve(everything), together(apply(namespaces), apply(database), apply(somebodysService), apply(fmt.Sprintf(bare, ownDSN, "")))}, Steps: []Step{
			together(says(theServer, "Stalled", "True "+v1alpha1.ReasonNameConflict), remove("Service platform/terdut")),
		}, Ends: ready(theServer)},
		{Name: "fields-of-others", Before: installed, Steps: []Step{
			together(
				merge("Deployment platform/terdut", `{"spec":{"strategy":{"type":"RollingUpdate"},"template":{"metadata":{"annotations":{"theirs":"1"}}}}}`),
				merge("Service platform/terdut", `{"metadata":{"labels":{"theirs":"1","app.kubernetes.io/instance":"else"}}}`),
			),
		}, Ends: ready(theServer)},
		{Name: "removed-and-held-by-another", Before: before(installed, edit("Deployment platform/terdut", func(o *unstructured.Unstructured) error {
			return unstructured.SetNestedField(o.Object, "1", "spec", "template", "metadata", "labels", "ours")
		})), Steps: []Step{apply(fmt.Sprintf(bare, ownDSN, ""))}, Ends: ready(theServer)},
	}
}

// released is what a release of Helm has left: it wrote with its own name, and
// not by server-side apply.
func released(r *Run) error {
	for _, document := range []string{releasedDeployment, releasedService} {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return fmt.Errorf("read a manifest of the release: %w", err)
		}
		if err := r.User.Create(context.Background(), object, client.FieldOwner("helm")); err != nil {
			return fmt.Errorf("install %s: %w", object.GetKind(), err)
		}
	}
	return nil
}

const (
	labelled = `
  podLabels: {ours: "1"}`

	releasedMetadata = `
  name: terdut
  namespace: platform
  labels: {app: old, app.kubernetes.io/managed-by: Helm, helm.sh/chart: terdut-server-1.2.3}
  annotations: {meta.helm.sh/release-name: terdut, meta.helm.sh/release-namespace: platform}`
	releasedDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata:` + releasedMetadata + `
spec:
  replicas: 1
  selector: {matchLabels: {app: old, release: terdut}}
  template:
    metadata: {labels: {app: old, release: terdut}}
    spec:
      containers:
        - name: terdut
          image: example.com/terdut:v0.9.2
          ports: [{name: web, containerPort: 8080}]
          env: [{name: OLD, value: value}]`
	releasedService = `
apiVersion: v1
kind: Service
metadata:` + releasedMetadata + `
spec:
  selector: {app: old, release: terdut}
  ports: [{name: web, port: 80, targetPort: 8080}]`
	somebodysService = `
apiVersion: v1
kind: Service
metadata: {name: terdut, namespace: platform}
spec:
  selector: {app: else}
  ports: [{name: web, port: 80, targetPort: 8080}]`
)
