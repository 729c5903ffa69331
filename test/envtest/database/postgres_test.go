package database_test

import (
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/postgres"
)

var _ = Describe("a real PostgreSQL", Ordered, func() {
	const role, password = "terdut", `canary@ss/w?rd#1 '"\%2F`
	var server *postgres.Postgres

	BeforeAll(func(ctx SpecContext) {
		postgres.Need(GinkgoT())
		var err error
		server, err = postgres.Start(ctx, postgres.Options{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(server.Stop()).To(Succeed()) })
	})

	// install makes a database of its own and a TerdutServer for it.
	install := func(ctx SpecContext, database, secret string) *world {
		GinkgoHelper()
		Expect(server.CreateDatabase(ctx, database, role, password)).To(Succeed())
		w := newWorld(ctx)
		w.secret(ctx, "db", map[string]string{"password": secret})
		w.secret(ctx, "company-ca", map[string]string{"root.pem": string(server.CAPEM)})
		w.create(ctx, image, v1alpha1.ServerDatabase{
			DSN:               "postgres://" + role + "@127.0.0.1:" + strconv.Itoa(server.Port) + "/" + database + "?sslmode=verify-full",
			PasswordSecretRef: &v1alpha1.SecretKeyRef{Name: "db"},
			CASecretRef:       &v1alpha1.SecretKeyRef{Name: "company-ca", Key: "root.pem"},
		})
		return w
	}

	It("is connected to with the right password, and with no other", func(ctx SpecContext) {
		w := install(ctx, "passwords", "wrong")
		w.crashes(ctx)
		w.crashes(ctx)
		Expect(w.ready(ctx)()).To(HavePrefix("True NotVerified: "))
		By("a line break at its end is part of a password")
		w.password(ctx, "db", password+"\n")
		w.crashes(ctx)
		w.crashes(ctx)
		Expect(w.ready(ctx)()).To(HavePrefix("True NotVerified: "))
		w.password(ctx, "db", password)
		w.settles(ctx)
	})

	It("may have a password that ends with a line break", func(ctx SpecContext) {
		w := install(ctx, "linebreaks", "wrong")
		w.crashes(ctx)
		Expect(server.SetPassword(ctx, role, password+"\n")).To(Succeed())
		w.password(ctx, "db", password+"\n")
		w.settles(ctx)
	})

	It("is not trusted without its certificate authority", func(ctx SpecContext) {
		w := install(ctx, "authorities", password)
		w.settles(ctx)
		other, err := postgres.Start(ctx, postgres.Options{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(other.Stop()).To(Succeed()) })
		change(ctx, w, &corev1.Secret{}, "company-ca", func(s *corev1.Secret) { s.Data["root.pem"] = other.CAPEM })
		Expect(env.Admin.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(w.namespace))).To(Succeed())
		w.becomes(ctx, "True NotVerified")
		w.crashes(ctx)
		Expect(w.ready(ctx)()).To(HavePrefix("True NotVerified: "))
		change(ctx, w, &corev1.Secret{}, "company-ca", func(s *corev1.Secret) { s.Data["root.pem"] = server.CAPEM })
		w.settles(ctx)
	})
})
