package render_test

import (
	"context"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

var routeKind = schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"}

// The kind is there for some of these and not for others, so they keep their
// order.
var _ = Describe("The HTTPRoute", Ordered, func() {
	wanted := func(s *v1alpha1.TerdutServer) {
		s.Spec.Networking = v1alpha1.ServerNetworking{Hostname: "terdut.example.com", GatewayListener: "gateways/public/https"}
	}
	routeReady := func(ctx SpecContext, w *world) func() string { return w.condition(ctx, v1alpha1.ConditionRouteReady) }

	It("is missed where the kind is, and made when that arrives", func(ctx SpecContext) {
		w := newWorld(ctx, nil)
		w.start(time.Hour)
		w.create(ctx, wanted)
		Eventually(routeReady(ctx, w)).Should(HavePrefix("False CRDNotInstalled: "))
		Expect(w.condition(ctx, v1alpha1.ConditionAvailable)()).To(HavePrefix("True"), "everything else works")
		Expect(w.condition(ctx, v1alpha1.ConditionBootstrapped)()).To(HavePrefix("True"))
		Expect(w.condition(ctx, v1alpha1.ConditionReady)()).To(HavePrefix("False CRDNotInstalled"))

		installRoutes(ctx)
		Eventually(routeReady(ctx, w)).Should(HavePrefix("False RouteNotAccepted: no controller has taken the HTTPRoute yet: check that Gateway gateways/public, listener https exists"))
		Expect(w.route(ctx).Object["spec"]).To(Equal(map[string]any{
			"hostnames": []any{"terdut.example.com"},
			"parentRefs": []any{map[string]any{
				"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": "gateways", "name": "public", "sectionName": "https",
			}},
			"rules": []any{map[string]any{
				"matches":     []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/"}}},
				"backendRefs": []any{map[string]any{"group": "", "kind": "Service", "name": name, "port": int64(8080), "weight": int64(1)}},
			}},
		}))

		By("saying what its controller says")
		w.answer(ctx, metav1.ConditionFalse)
		Eventually(routeReady(ctx, w)).Should(HavePrefix("False RouteNotAccepted: example.com/gateway does not route by Gateway gateways/public, listener https: NotAllowedByListeners"))
		w.answer(ctx, metav1.ConditionTrue)
		Eventually(routeReady(ctx, w)).Should(Equal("True RouteAccepted: Gateway gateways/public, listener https routes terdut.example.com to the server"))
		w.Ready(ctx)

		By("going when nobody wants it any more")
		change(ctx, w, &v1alpha1.TerdutServer{}, func(s *v1alpha1.TerdutServer) { s.Spec.Networking.GatewayListener = "" })
		Eventually(func() bool { return apierrors.IsNotFound(env.Admin.Get(ctx, w.key(), emptyRoute())) }).Should(BeTrue())
		Eventually(routeReady(ctx, w)).Should(Equal("absent"))
		w.Ready(ctx)
	})

	It("waits for an administrator, and costs nothing at rest or after a restart", func(ctx SpecContext) {
		w := newWorld(ctx, nil)
		stop := w.start(300 * time.Millisecond)
		w.create(ctx, func(s *v1alpha1.TerdutServer) { wanted(s); s.Spec.Image.Repository = "registry.example.com/nowhere" })
		Eventually(routeReady(ctx, w)).Should(HavePrefix("False WaitingForServer: "))
		Expect(apierrors.IsNotFound(env.Admin.Get(ctx, w.key(), emptyRoute()))).To(BeTrue())
		change(ctx, w, &v1alpha1.TerdutServer{}, func(s *v1alpha1.TerdutServer) { s.Spec.Image.Repository = goodImage })
		Eventually(func() error { return env.Admin.Get(ctx, w.key(), emptyRoute()) }).Should(Succeed())
		w.answer(ctx, metav1.ConditionTrue)
		w.Ready(ctx)

		version := w.route(ctx).GetResourceVersion()
		w.rests(stop)
		w.writes.Store(0)
		w.rests(w.start(300 * time.Millisecond))
		Expect(w.writes.Load()).To(BeZero(), "a restart writes nothing")
		Expect(w.route(ctx).GetResourceVersion()).To(Equal(version))
	})

	It("stays when the kind goes for a while", func(ctx SpecContext) {
		w := newWorld(ctx, nil)
		w.start(time.Hour)
		w.create(ctx, wanted)
		Eventually(func() error { return env.Admin.Get(ctx, w.key(), emptyRoute()) }).Should(Succeed())
		definition := &unstructured.Unstructured{}
		definition.SetName("httproutes.gateway.networking.k8s.io")
		definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
		Expect(env.Admin.Delete(ctx, definition)).To(Succeed())
		Eventually(routeReady(ctx, w)).Should(HavePrefix("False CRDNotInstalled: "))
		installRoutes(ctx)
		Eventually(func() error { return env.Admin.Get(ctx, w.key(), emptyRoute()) }).Should(Succeed())
		w.answer(ctx, metav1.ConditionTrue)
		w.Ready(ctx)
	})
})

// rests wants ten passes without a write, and ends the operator.
func (w *world) rests(stop func()) {
	GinkgoHelper()
	writes, passes := int64(-1), int64(0)
	Eventually(func() bool {
		if now := w.writes.Load(); now != writes {
			writes, passes = now, w.passes.Load()
		}
		return w.passes.Load() >= passes+10
	}).Should(BeTrue(), "ten passes without a write")
	stop()
}

func installRoutes(ctx context.Context) {
	GinkgoHelper()
	Eventually(func() error {
		_, err := envtest.InstallCRDs(env.Plane.Config, envtest.CRDInstallOptions{Paths: []string{
			filepath.Join(root, "test", "crds", "gateway.networking.k8s.io_httproutes.yaml"),
		}})
		return err
	}).WithContext(ctx).Should(Succeed())
}

func emptyRoute() *unstructured.Unstructured {
	route := &unstructured.Unstructured{}
	route.SetGroupVersionKind(routeKind)
	return route
}

func (w *world) key() client.ObjectKey {
	return client.ObjectKey{Namespace: w.Namespace, Name: name}
}

func (w *world) route(ctx context.Context) *unstructured.Unstructured {
	GinkgoHelper()
	route := emptyRoute()
	Expect(env.Admin.Get(ctx, w.key(), route)).To(Succeed())
	return route
}

// answer writes the status of the route as a Gateway's controller does.
func (w *world) answer(ctx context.Context, accepted metav1.ConditionStatus) {
	GinkgoHelper()
	Eventually(func() error {
		route := emptyRoute()
		if err := env.Admin.Get(ctx, w.key(), route); err != nil {
			return err
		}
		reason := "NotAllowedByListeners"
		if accepted == metav1.ConditionTrue {
			reason = "Accepted"
		}
		conditions := []metav1.Condition{}
		meta.SetStatusCondition(&conditions, metav1.Condition{Type: "Accepted", Status: accepted, Reason: reason, ObservedGeneration: route.GetGeneration()})
		meta.SetStatusCondition(&conditions, metav1.Condition{
			Type: "ResolvedRefs", Status: metav1.ConditionTrue, Reason: "ResolvedRefs", ObservedGeneration: route.GetGeneration(),
		})
		var list []any
		for _, c := range conditions {
			list = append(list, map[string]any{
				"type": c.Type, "status": string(c.Status), "reason": c.Reason, "message": c.Message,
				"observedGeneration": c.ObservedGeneration, "lastTransitionTime": c.LastTransitionTime.UTC().Format(time.RFC3339),
			})
		}
		route.Object["status"] = map[string]any{"parents": []any{map[string]any{
			"controllerName": "example.com/gateway", "parentRef": map[string]any{"name": "public", "namespace": "gateways"}, "conditions": list,
		}}}
		return env.Admin.Status().Update(ctx, route)
	}).Should(Succeed())
}
