package server_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

var _ = Describe("the database", func() {
	It("is taken up as soon as its password is there, and nothing is made before", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(time.Hour)
		w.create(ctx, func(s *v1alpha1.TerdutServer) {
			s.Spec.Database.PasswordSecretRef = &v1alpha1.SecretKeyRef{Name: "db"}
		})
		Eventually(w.conditionOf(ctx, v1alpha1.ConditionDatabaseReady)).Should(Equal("False SecretNotFound"))
		Expect(w.message(ctx, v1alpha1.ConditionReady)).To(And(ContainSubstring("spec.database.passwordSecretRef"), ContainSubstring(`"db"`)))
		Expect(gone(ctx, w, &appsv1.Deployment{}, name)()).To(BeTrue())
		w.secret(ctx, "db", map[string]string{"other": "x"})
		Eventually(w.conditionOf(ctx, v1alpha1.ConditionDatabaseReady)).Should(Equal("False SecretKeyMissing"))
		change(ctx, w, &corev1.Secret{}, "db", func(s *corev1.Secret) { s.Data["password"] = []byte("planted-canary") })
		Eventually(w.conditionOf(ctx, v1alpha1.ConditionDatabaseReady)).Should(Equal("True NotVerified"))
		w.run(ctx, true)
		w.ready(ctx)
		Expect(w.conditionOf(ctx, v1alpha1.ConditionDatabaseReady)()).To(Equal("True Connected"))
		Expect(get(ctx, w, &appsv1.Deployment{}, name).String()).NotTo(ContainSubstring("planted-canary"))
	})

	It("keeps the pods that run when a Secret of a new generation is missing", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(time.Hour)
		w.settle(ctx)
		before := get(ctx, w, &appsv1.Deployment{}, name).Generation
		change(ctx, w, &v1alpha1.TerdutServer{}, name, func(s *v1alpha1.TerdutServer) {
			s.Spec.Notify = &v1alpha1.ServerNotify{TokenSecretRef: &v1alpha1.SecretKeyRef{Name: "ntfy"}}
		})
		Eventually(w.conditionOf(ctx, v1alpha1.ConditionAvailable)).Should(Equal("False SecretNotFound"))
		Expect(w.message(ctx, v1alpha1.ConditionAvailable)).To(ContainSubstring("spec.notify.tokenSecretRef"))
		Expect(get(ctx, w, &appsv1.Deployment{}, name).Generation).To(Equal(before))
		Expect(w.server(ctx).Status.ObservedGeneration).To(Equal(int64(1)))
		w.secret(ctx, "ntfy", map[string]string{"token": "t"})
		Eventually(func() int64 { return get(ctx, w, &appsv1.Deployment{}, name).Generation }).Should(Equal(before + 1))
	})

	It("is read from a cluster of the postgres-operator, once that is installed", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(time.Second)
		w.create(ctx, func(s *v1alpha1.TerdutServer) {
			s.Spec.Database = v1alpha1.ServerDatabase{PostgresClusterRef: &v1alpha1.LocalRef{Name: "pg"}}
		})
		Eventually(w.conditionOf(ctx, v1alpha1.ConditionDatabaseReady)).Should(Equal("False CRDNotInstalled"))
		installPostgres(ctx)
		touch := func(tag string) {
			change(ctx, w, &v1alpha1.TerdutServer{}, name, func(s *v1alpha1.TerdutServer) { s.Spec.Image = &v1alpha1.ServerImage{Tag: tag} })
		}
		// It looks again within a minute; a new generation is looked at now.
		touch("v1")
		Eventually(w.conditionOf(ctx, v1alpha1.ConditionDatabaseReady)).Should(Equal("False ClusterNotFound"))

		cluster := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "acid.zalan.do/v1", "kind": "postgresql",
			"metadata": map[string]any{"namespace": w.namespace, "name": "pg"},
			"spec":     map[string]any{"databases": map[string]any{"app": "app_owner", "other": "other"}},
		}}
		Expect(admin.Create(ctx, cluster)).To(Succeed())
		Eventually(w.conditionOf(ctx, v1alpha1.ConditionDatabaseReady)).Should(Equal("False ClusterNotReady"))
		Expect(unstructured.SetNestedField(cluster.Object, "Running", "status", "PostgresClusterStatus")).To(Succeed())
		Expect(admin.Status().Update(ctx, cluster)).To(Succeed())
		Eventually(w.conditionOf(ctx, v1alpha1.ConditionDatabaseReady)).Should(Equal("False DatabaseAmbiguous"))
		Expect(w.message(ctx, v1alpha1.ConditionDatabaseReady)).To(ContainSubstring("app of app_owner, other of other"))
		unstructured.RemoveNestedField(cluster.Object, "spec", "databases", "other")
		Expect(admin.Update(ctx, cluster)).To(Succeed())
		Eventually(w.conditionOf(ctx, v1alpha1.ConditionDatabaseReady)).Should(Equal("False SecretNotFound"))
		const secret = "app-owner.pg.credentials.postgresql.acid.zalan.do"
		w.secret(ctx, secret, map[string]string{"username": "app_owner", "password": "p"})
		w.run(ctx, true)
		w.ready(ctx)
		env := get(ctx, w, &appsv1.Deployment{}, name).Spec.Template.Spec.Containers[0].Env
		Expect(env[0].Value).To(Equal("postgres://app_owner@pg." + w.namespace + ".svc:5432/app?sslmode=require"))
		Expect(env[1].Name).To(Equal("PGPASSWORD"))
		Expect(env[1].ValueFrom.SecretKeyRef.Name).To(Equal(secret))
	})
})

// installPostgres serves the kind of the postgres-operator, as far as it is
// read, until the spec ends.
func installPostgres(ctx context.Context) {
	GinkgoHelper()
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "postgresqls.acid.zalan.do"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "acid.zalan.do",
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "postgresqls", Singular: "postgresql", Kind: "postgresql", ListKind: "postgresqlList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: ptr.To(true),
				}},
			}},
		},
	}
	Expect(admin.Create(ctx, crd)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(admin.Delete(ctx, crd)).To(Succeed()) })
	Eventually(func() bool {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
			return false
		}
		for _, c := range crd.Status.Conditions {
			if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
				return true
			}
		}
		return false
	}).Should(BeTrue())
}
