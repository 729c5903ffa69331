package server_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/server"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/alone"
)

var _ = Describe("children", func() {
	It("are owned of the live object exactly as they are rendered", func(ctx SpecContext) {
		paths, err := filepath.Glob(testenv.Path("controllers", "terdut", "server", "testdata", "*.yaml"))
		Expect(err).NotTo(HaveOccurred())
		for _, path := range paths {
			if strings.HasSuffix(path, ".golden.yaml") {
				continue
			}
			By(filepath.Base(path))
			w := newWorld(ctx)
			content, readErr := os.ReadFile(path)
			Expect(readErr).NotTo(HaveOccurred())
			first, _, _ := bytes.Cut(content, []byte("\n---\n"))
			owner := &v1alpha1.TerdutServer{}
			Expect(yaml.UnmarshalStrict(first, owner)).To(Succeed())
			owner.Namespace, owner.UID = w.Namespace, ""
			Expect(env.Admin.Create(ctx, owner)).To(Succeed())
			render := func() []string {
				in := server.Inputs{Namespace: owner.Namespace, Name: owner.Name, UID: owner.UID, Spec: owner.Spec}
				in.Database = server.Database{DSN: "postgres://u@h:5432/d", Password: &server.SecretKey{Secret: "s", Key: "k"}}
				var out []string
				for _, child := range server.Render(in) {
					raw, marshalErr := json.Marshal(child)
					Expect(marshalErr).NotTo(HaveOccurred())
					out = append(out, string(raw))
					Expect(env.Admin.Apply(ctx, child, client.FieldOwner(fieldManager))).To(Succeed())
				}
				return out
			}
			rendered := render()
			service, extractErr := corev1ac.ExtractService(alone.Get(ctx, w.World, &corev1.Service{}, owner.Name), fieldManager)
			Expect(extractErr).NotTo(HaveOccurred())
			deployment, extractErr := appsv1ac.ExtractDeployment(alone.Get(ctx, w.World, &appsv1.Deployment{}, owner.Name), fieldManager)
			Expect(extractErr).NotTo(HaveOccurred())
			for i, extracted := range []any{service, deployment} {
				raw, marshalErr := json.Marshal(extracted)
				Expect(marshalErr).NotTo(HaveOccurred())
				Expect(string(raw)).To(MatchJSON(rendered[i]))
			}
		}
	})

	It("cost nothing at rest, over ten passes and a restart", func(ctx SpecContext) {
		w := newWorld(ctx)
		o := w.start(200 * time.Millisecond)
		w.Settle(ctx)
		versions := func() []string {
			return []string{
				w.Server(ctx).ResourceVersion,
				alone.Get(ctx, w.World, &appsv1.Deployment{}, name).ResourceVersion,
				alone.Get(ctx, w.World, &corev1.Service{}, name).ResourceVersion,
				alone.Get(ctx, w.World, &corev1.Secret{}, credentialsName).ResourceVersion,
			}
		}
		before, writes := versions(), o.writes.Load()
		w.Remote.ResetRequests()
		Eventually(func() int { return w.Requests("GET", "/api/me") }).Should(BeNumerically(">=", 10))
		Expect(o.writes.Load()).To(Equal(writes))
		asked := w.Requests("GET", "/api/me")
		probed := w.Requests("GET", "/healthz") + w.Requests("GET", "/api/version")
		Expect(len(w.Remote.Requests())).To(Equal(asked+probed), "one question a resync, and a probe of what the server can")
		Expect(probed).To(BeNumerically("<=", 2*(asked/6+1)), "a probe every sixth resync")

		o.stop()
		o = w.start(200 * time.Millisecond)
		w.Remote.ResetRequests()
		Eventually(func() int { return w.Requests("GET", "/api/me") }).Should(BeNumerically(">=", 3))
		Expect(o.writes.Load()).To(BeZero())
		Expect(versions()).To(Equal(before))
	})

	It("are repaired when somebody changes them, and the Event says who", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(time.Hour)
		w.Settle(ctx)
		alone.Change(ctx, w.World, &appsv1.Deployment{}, name, func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To(int32(3)) })
		Eventually(func() int32 { return *alone.Get(ctx, w.World, &appsv1.Deployment{}, name).Spec.Replicas }).Should(Equal(int32(1)))
		Eventually(w.Events(ctx)).Should(ContainElement(
			MatchRegexp(`^Warning DriftCorrected: Deployment terdut: spec.replicas, set by kubectl-edit \(Update\) at .*; restored$`)))
	})

	It("are made again when somebody deletes them", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(time.Hour)
		w.Settle(ctx)
		service := alone.Get(ctx, w.World, &corev1.Service{}, name)
		Expect(env.Admin.Delete(ctx, service)).To(Succeed())
		Eventually(func() bool {
			again := &corev1.Service{}
			err := env.Admin.Get(ctx, client.ObjectKeyFromObject(service), again)
			return err == nil && again.UID != service.UID
		}).Should(BeTrue())
		Eventually(w.Events(ctx)).Should(ContainElement(HavePrefix("Warning DriftCorrected: Service terdut: it had been deleted")))
		w.Ready(ctx)
	})

	It("follow the spec, and the generation counts as applied when it was", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(time.Hour)
		w.Settle(ctx)
		Expect(w.Server(ctx).Status.ObservedGeneration).To(Equal(int64(1)))
		alone.Change(ctx, w.World, &v1alpha1.TerdutServer{}, name, func(s *v1alpha1.TerdutServer) {
			s.Spec.Networking.ServicePort = 9000
			s.Spec.Image = &v1alpha1.ServerImage{Tag: "v0.10.2"}
		})
		Eventually(func() string {
			return alone.Get(ctx, w.World, &appsv1.Deployment{}, name).Spec.Template.Spec.Containers[0].Image
		}).Should(Equal("git.ryuvia.com/niklas/terdut-server:v0.10.2"))
		Eventually(func() int32 { return alone.Get(ctx, w.World, &corev1.Service{}, name).Spec.Ports[0].Port }).Should(Equal(int32(9000)))
		Eventually(w.ConditionOf(ctx, v1alpha1.ConditionAvailable)).Should(Equal("False RolloutInProgress"))
		Eventually(w.ConditionOf(ctx, v1alpha1.ConditionDatabaseReady)).Should(Equal("True NotVerified"))
		w.RollOut(ctx, true)
		w.Ready(ctx)
		Expect(w.Server(ctx).Status.ObservedGeneration).To(Equal(int64(2)))
		Expect(w.Requests("POST", "/api/bootstrap")).To(Equal(1))
	})

	It("stay away from a stranger's object of the same name", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(time.Hour)
		stranger := &corev1.Service{}
		stranger.Namespace, stranger.Name = w.Namespace, name
		stranger.Spec.Ports = []corev1.ServicePort{{Port: 1}}
		Expect(env.Admin.Create(ctx, stranger)).To(Succeed())
		w.Create(ctx)
		Eventually(w.ConditionOf(ctx, v1alpha1.ConditionAvailable)).Should(Equal("False NameConflict"))
		Eventually(w.ConditionOf(ctx, v1alpha1.ConditionStalled)).Should(Equal("True NameConflict"))
		Expect(alone.Get(ctx, w.World, &corev1.Service{}, name).ResourceVersion).To(Equal(stranger.ResourceVersion))
		Expect(w.Server(ctx).Status.ObservedGeneration).To(Equal(int64(-1)))
	})
})
