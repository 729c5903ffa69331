package namespaced_test

import (
	"context"
	"os/exec"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

var _ = Describe("an operator that watches some namespaces", func() {
	It("does everything there, across namespaces, and nothing elsewhere", func(ctx SpecContext) {
		i := newInstall(ctx, asIs)
		elsewhere := i.full(ctx, i.stranger)
		objects := i.full(ctx, i.tenant)
		env.EventuallyReady(ctx, objects...)
		Expect(i.peer.Teams()).To(HaveLen(1))

		By("the label being taken away, and given back")
		label(ctx, i.tenant, false)
		for _, o := range objects {
			eventuallySays(ctx, o, v1alpha1.ConditionReady, "False RefNotPermitted")
		}
		label(ctx, i.tenant, true)
		env.EventuallyReady(ctx, objects...)

		By("another one being made and deleted, while the others stay away")
		other := i.team(i.platform, "Platform")
		other.Spec.ServerRef.Namespace = ""
		env.Create(ctx, other)
		env.EventuallyReady(ctx, other)
		for _, o := range elsewhere {
			Expect(env.Read(ctx, o)).To(Succeed())
			Expect(steps.Conditions(o)).To(BeEmpty(), "%T", o)
			Expect(o.GetFinalizers()).To(BeEmpty(), "%T", o)
		}
		env.Remove(ctx, slices.Concat(objects[1:], []client.Object{other})...)
		env.EventuallyGone(ctx, objects[1:]...)
		env.Remove(ctx, objects[0])
		env.EventuallyGone(ctx, objects[0], other)
		Expect(i.peer.Teams()).To(BeEmpty())
		env.Remove(ctx, i.server)
	})

	It("takes over what is on the server, after it has looked for another holder", func(ctx SpecContext) {
		i := newInstall(ctx, asIs)
		created, err := i.peer.Model().CreateTeam("Old")
		Expect(err).NotTo(HaveOccurred())
		old := i.team(i.platform, "Old")
		env.Create(ctx, old)
		env.EventuallyReady(ctx, old)
		Expect(old.Status.TeamID).To(Equal(created.ID))
	})

	It("does not tell a server elsewhere from one that is missing", func(ctx SpecContext) {
		i := newInstall(ctx, asIs)
		server := &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: i.stranger, Name: "terdut"}}
		server.Spec = *i.server.Spec.DeepCopy()
		server.Spec.AllowedTeams.Namespaces = v1alpha1.AllowedNamespaces{From: v1alpha1.FromAll}
		env.Create(ctx, server)
		unwatched, missing := i.team(i.tenant, "Unwatched"), i.team(i.tenant, "Missing")
		unwatched.Spec.ServerRef.Namespace, missing.Spec.ServerRef.Name = i.stranger, "nothing"
		env.Create(ctx, unwatched, missing)
		eventuallySays(ctx, unwatched, v1alpha1.ConditionReady, "False RefNotPermitted")
		eventuallySays(ctx, missing, v1alpha1.ConditionReady, "False RefNotPermitted")
		Expect(says(ctx, unwatched, v1alpha1.ConditionReady)()).To(Equal(strings.ReplaceAll(
			says(ctx, missing, v1alpha1.ConditionReady)(), i.platform+"/nothing", i.stranger+"/terdut")))
		Expect(env.Read(ctx, server)).To(Succeed())
		Expect(server.Status.Conditions).To(BeEmpty())
	})

	It("says of a server that it admits more than is watched, as far as that can be told", func(ctx SpecContext) {
		i := newInstall(ctx, asIs)
		const told = v1alpha1.ConditionNamespaceNotWatched
		eventuallySays(ctx, i.server, told, "True NamespaceNotWatched: spec.allowedTeams may admit namespaces")
		env.EventuallyEvent(ctx, i.server, HavePrefix("Warning NamespaceNotWatched: spec.allowedTeams may admit"))

		admit := func(names ...string) {
			steps.Change(ctx, env, i.server, func(s *v1alpha1.TerdutServer) {
				s.Spec.AllowedTeams.Namespaces.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: names},
				}}
			})
			env.EventuallyReady(ctx, i.server)
		}
		admit(i.tenant, i.stranger)
		eventuallySays(ctx, i.server, told, "True NamespaceNotWatched: spec.allowedTeams admits 1 namespaces")
		Expect(says(ctx, i.server, told)()).To(And(ContainSubstring(i.stranger), Not(ContainSubstring(i.tenant))))
		admit(i.tenant)
		Eventually(says(ctx, i.server, told)).Should(BeEmpty())
	})
})

var _ = Describe("a namespace that is watched no longer", func() {
	It("keeps its copy of the key, and the server says so", func(ctx SpecContext) {
		i := newInstall(ctx, func(s *v1alpha1.TerdutServer) {
			s.Spec.Credentials = &v1alpha1.ServerCredentials{Mode: v1alpha1.CredentialsMirrored}
			s.Spec.AllowedTeams.Namespaces.Selector.MatchLabels[corev1.LabelMetadataName] = "none"
		})
		steps.Change(ctx, env, i.server, func(s *v1alpha1.TerdutServer) {
			s.Spec.AllowedTeams.Namespaces.Selector.MatchLabels[corev1.LabelMetadataName] = i.tenant
		})
		team := i.team(i.tenant, "Payments")
		env.Create(ctx, team)
		env.EventuallyReady(ctx, team)
		mirror := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: i.tenant, Name: v1alpha1.MirrorSecretName(i.server.Name, i.platform),
		}}
		Eventually(func() error { return env.Read(ctx, mirror) }).Should(Succeed())
		mirrored := func() []string {
			Expect(env.Read(ctx, i.server)).To(Succeed())
			return i.server.Status.Credentials.MirrorNamespaces
		}
		Eventually(mirrored).Should(ConsistOf(i.tenant))
		Expect(says(ctx, i.server, v1alpha1.ConditionNamespaceNotWatched)()).To(BeEmpty())

		i.run(i.platform)
		eventuallySays(ctx, i.server, v1alpha1.ConditionNamespaceNotWatched, "True NamespaceNotWatched")
		Expect(says(ctx, i.server, v1alpha1.ConditionNamespaceNotWatched)()).To(ContainSubstring("1 namespaces with a copy"))
		Consistently(mirrored, 2*resync).Should(ConsistOf(i.tenant))
		Expect(i.server.Status.Credentials.Exposed).To(BeEmpty())
		Expect(env.Read(ctx, mirror)).To(Succeed())
		env.EventuallyReady(ctx, i.server)

		i.run(i.platform, i.tenant)
		Eventually(says(ctx, i.server, v1alpha1.ConditionNamespaceNotWatched)).Should(BeEmpty())
		Expect(mirrored()).To(ConsistOf(i.tenant))
	})

	It("is not taken for one without the server: what has to be cleaned up waits and says why", func(ctx SpecContext) {
		i := newInstall(ctx, asIs)
		team := i.team(i.tenant, "Payments")
		env.Create(ctx, team)
		env.EventuallyReady(ctx, team)

		i.run(i.tenant)
		eventuallySays(ctx, team, v1alpha1.ConditionReady, "False RefNotPermitted")
		env.Remove(ctx, team)
		eventuallySays(ctx, team, v1alpha1.ConditionDegraded, "True NamespaceNotWatched")
		Expect(i.peer.Teams()).To(HaveLen(1))

		i.run(i.platform, i.tenant)
		env.EventuallyGone(ctx, team)
		Expect(i.peer.Teams()).To(BeEmpty())
	})
})

var _ = Describe("the Role of a watched namespace", func() {
	It("is the generated ClusterRole, but of Namespaces it may get one only", func() {
		whole, err := testenv.ClusterRole()
		Expect(err).NotTo(HaveOccurred())
		role, err := testenv.NamespacedRole()
		Expect(err).NotTo(HaveOccurred())
		want := slices.Clone(whole.Rules)
		for n, rule := range want {
			if slices.Contains(rule.Resources, "namespaces") {
				want[n] = rbacv1.PolicyRule{APIGroups: rule.APIGroups, Resources: []string{"namespaces"}, Verbs: []string{"get"}}
			}
		}
		Expect(role.Rules).To(Equal(want))
	})
})

var _ = Describe("the manifests of config/namespaced", func() {
	It("have no ClusterRole, and a Role in each namespace that the flag names", func(ctx SpecContext) {
		manifests, err := exec.CommandContext(ctx, env.Plane.Assets.Kubectl, "kustomize", testenv.Path("config", "namespaced")).Output()
		Expect(err).NotTo(HaveOccurred())
		args, bound := []string(nil), map[string][]string{}
		for document := range strings.SplitSeq(string(manifests), "\n---\n") {
			object := &unstructured.Unstructured{}
			Expect(yaml.Unmarshal([]byte(document), &object.Object)).To(Succeed())
			Expect(object.GetKind()).NotTo(HavePrefix("ClusterRole"))
			switch {
			case object.GetKind() == "Deployment":
				containers, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
				Expect(err).NotTo(HaveOccurred())
				args, _, err = unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
				Expect(err).NotTo(HaveOccurred())
			case object.GetName() == "terdut-operator" && strings.HasPrefix(object.GetKind(), "Role"):
				bound[object.GetKind()] = append(bound[object.GetKind()], object.GetNamespace())
			}
		}
		Expect(bound["Role"]).To(ConsistOf("platform-oncall", "payments"))
		Expect(bound["RoleBinding"]).To(ConsistOf(bound["Role"]))
		Expect(args).To(ContainElement("--watch-namespaces=platform-oncall,payments"))
	})
})

// label sets or takes away the label that the servers here ask for.
func label(ctx context.Context, namespace string, present bool) {
	GinkgoHelper()
	steps.Change(ctx, env, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, func(ns *corev1.Namespace) {
		delete(ns.Labels, sample.Allowed)
		if present {
			ns.Labels[sample.Allowed] = "true"
		}
	})
}
