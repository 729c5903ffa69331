package render_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/server"
)

// testdata are the cases of the renderer.
var testdata = filepath.Join(root, "controllers", "terdut", "server", "testdata")

func caseOf(file string) *v1alpha1.TerdutServer {
	GinkgoHelper()
	content, err := os.ReadFile(filepath.Join(testdata, file))
	Expect(err).NotTo(HaveOccurred())
	first, _, _ := bytes.Cut(content, []byte("\n---\n"))
	is := &v1alpha1.TerdutServer{}
	Expect(yaml.UnmarshalStrict(first, is)).To(Succeed())
	return is
}

// rendered are the children of a server that was made, with what a pass would
// have resolved.
func rendered(is *v1alpha1.TerdutServer) []runtime.ApplyConfiguration {
	return server.Render(server.Inputs{
		Namespace: is.Namespace, Name: is.Name, UID: is.UID, Spec: is.Spec,
		Database: server.Database{
			DSN: "postgres://u@h:5432/d", Password: &server.SecretKey{Secret: "s", Key: "k"}, CA: &server.SecretKey{Secret: "ca", Key: "ca.crt"},
		},
	})
}

var _ = Describe("Every knob", func() {
	files, err := filepath.Glob(filepath.Join(testdata, "*.yaml"))
	if err != nil || len(files) == 0 {
		panic("the cases of the renderer are gone")
	}
	for _, file := range files {
		file = filepath.Base(file)
		if strings.HasSuffix(file, ".golden.yaml") {
			continue
		}
		It("is owned of the live object exactly as it is rendered: "+file, func(ctx SpecContext) {
			w := newWorld(ctx, nil)
			is := caseOf(file)
			is.Namespace, is.UID = w.Namespace, ""
			Expect(env.Admin.Create(ctx, is)).To(Succeed())
			for _, child := range rendered(is) {
				raw, marshalErr := json.Marshal(child)
				Expect(marshalErr).NotTo(HaveOccurred())
				Expect(env.Admin.Apply(ctx, child, client.FieldOwner(operatorUser))).To(Succeed())
				Expect(json.Marshal(extracted(ctx, is, child))).To(MatchJSON(raw))
			}
		})
	}

	It("has a value in the case that sets them all", func() {
		knobs := reflect.ValueOf(caseOf("knobs.yaml").Spec.ServerPod)
		for i := range knobs.NumField() {
			Expect(knobs.Field(i).IsZero()).To(BeFalse(), "set %s in knobs.yaml", knobs.Type().Field(i).Name)
		}
	})

	It("costs nothing at rest", func(ctx SpecContext) {
		w := newWorld(ctx, nil)
		is := caseOf("knobs.yaml")
		is.Namespace, is.Name, is.UID = w.Namespace, name, ""
		is.Spec.Image.Repository = goodImage
		// Neither the class nor the kind of the route is there, and the node knows no resourceFieldRef.
		is.Spec.PriorityClassName, is.Spec.Networking.GatewayListener = "", ""
		is.Spec.ExtraEnv = slices.DeleteFunc(is.Spec.ExtraEnv, func(e v1alpha1.ServerEnvVar) bool {
			return e.ValueFrom != nil && e.ValueFrom.ResourceFieldRef != nil
		})
		about := metav1.ObjectMeta{Namespace: w.Namespace, Name: "extra"}
		Expect(env.Admin.Create(ctx, &corev1.Secret{ObjectMeta: about, StringData: map[string]string{"k": "v"}})).To(Succeed())
		Expect(env.Admin.Create(ctx, is)).To(Succeed())
		stop := w.start(200 * time.Millisecond)
		w.Ready(ctx)
		w.rests(stop)
		w.writes.Store(0)
		w.rests(w.start(200 * time.Millisecond))
		Expect(w.writes.Load()).To(BeZero(), "a restart writes nothing")
	})
})

// extracted is what the operator's manager owns of the live child.
func extracted(ctx context.Context, is *v1alpha1.TerdutServer, child runtime.ApplyConfiguration) any {
	GinkgoHelper()
	key := client.ObjectKeyFromObject(is)
	var out any
	var err error
	switch child.(type) {
	case *corev1ac.ServiceApplyConfiguration:
		live := &corev1.Service{}
		Expect(env.Admin.Get(ctx, key, live)).To(Succeed())
		out, err = corev1ac.ExtractService(live, operatorUser)
	case *appsv1ac.DeploymentApplyConfiguration:
		live := &appsv1.Deployment{}
		Expect(env.Admin.Get(ctx, key, live)).To(Succeed())
		out, err = appsv1ac.ExtractDeployment(live, operatorUser)
	default:
		Fail("unknown child")
	}
	Expect(err).NotTo(HaveOccurred())
	return out
}
