package apply_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
)

const imagePath = "spec.template.spec.containers[name=server].image"

var _ = Describe("a manager that fights", engineCase, func() {
	const resync = 30 * time.Minute
	var w *world
	var now time.Time

	BeforeEach(func(ctx SpecContext) {
		w = newWorld(ctx)
		now = time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC)
		w.restart(func(o *apply.Options) { o.Now, o.Resync = func() time.Time { return now }, resync })
		w.settle(ctx)
	})

	edit := func(ctx context.Context, manager string, change func(*appsv1.Deployment)) {
		GinkgoHelper()
		deployment := w.liveDeployment(ctx)
		change(deployment)
		Expect(admin.Update(ctx, deployment, client.FieldOwner(manager))).To(Succeed())
		w.seen(ctx)
	}
	setImage := func(image string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = image }
	}
	take := func(ctx context.Context, round int) {
		GinkgoHelper()
		edit(ctx, "fighter", setImage(fmt.Sprintf("registry.test/theirs:%d", round)))
	}
	corrected := HaveField("Action", apply.Corrected)
	contested := ConsistOf(And(HaveField("Key.Name", "demo"), HaveField("Path", imagePath), HaveField("Manager", "fighter")))

	It("is answered four times without a word, and from the fifth time on once per resync", func(ctx SpecContext) {
		for round := range 5 {
			take(ctx, round)
			report := w.settle(ctx)
			Expect(report.Changes).To(ConsistOf(corrected))
			Expect(w.container(ctx, "server").Image).To(Equal(w.image))
			if round < 4 {
				Expect(report.Contested).To(BeEmpty())
			} else {
				Expect(report.Contested).To(contested)
			}
			now = now.Add(time.Minute)
		}

		By("holding still, without any request")
		take(ctx, 5)
		Expect(w.rests(ctx).Contested).To(contested)
		Expect(w.container(ctx, "server").Image).To(Equal("registry.test/theirs:5"))

		By("still repairing everything else, without touching what is contested")
		edit(ctx, "somebody", func(d *appsv1.Deployment) { *d.Spec.Replicas = 3 })
		report := w.settle(ctx)
		Expect(report.Changes).To(ConsistOf(And(corrected, HaveField("Fields", ConsistOf(HaveField("Path", "spec.replicas"))))))
		Expect(report.Contested).To(contested)
		Expect(*w.liveDeployment(ctx).Spec.Replicas).To(BeEquivalentTo(1))
		Expect(w.container(ctx, "server").Image).To(Equal("registry.test/theirs:5"))

		By("applying a new wish at once")
		w.image = "registry.test/demo:2"
		Expect(w.settle(ctx).Changes).To(ConsistOf(And(HaveField("Action", apply.Updated), HaveField("Forced", HaveLen(1)))))
		Expect(w.container(ctx, "server").Image).To(Equal(w.image))
		edit(ctx, "fighter", setImage("registry.test/theirs:5"))
		Expect(w.rests(ctx).Contested).To(contested)

		By("repairing it at the next resync, once")
		now = now.Add(resync)
		report = w.settle(ctx)
		Expect(report.Changes).To(ConsistOf(And(corrected, HaveField("Fields", ConsistOf(HaveField("Path", imagePath))))))
		Expect(report.Contested).To(contested)
		Expect(w.container(ctx, "server").Image).To(Equal(w.image))
		take(ctx, 6)
		Expect(w.rests(ctx).Contested).To(contested)

		By("calming down when it stays for a resync")
		now = now.Add(resync)
		Expect(w.settle(ctx).Contested).To(contested)
		Expect(w.rests(ctx).Contested).To(contested)
		now = now.Add(resync)
		Expect(w.rests(ctx).Contested).To(BeEmpty())
		take(ctx, 7)
		report = w.settle(ctx)
		Expect(report.Changes).To(ConsistOf(corrected))
		Expect(report.Contested).To(BeEmpty())
	})

	It("is no fight when it is slow, or when others do it in turns", func(ctx SpecContext) {
		for round := range 7 {
			take(ctx, round)
			Expect(w.settle(ctx).Contested).To(BeEmpty())
			now = now.Add(3 * time.Minute)
		}
		for round := range 4 {
			for _, manager := range []string{"one", "two"} {
				edit(ctx, manager, setImage(fmt.Sprintf("registry.test/%s:%d", manager, round)))
				Expect(w.settle(ctx).Contested).To(BeEmpty())
			}
		}
	})

	It("is recognised when it only changes an order, or removes what is ours", func(ctx SpecContext) {
		swap := func(d *appsv1.Deployment) {
			env := d.Spec.Template.Spec.Containers[0].Env
			env[0], env[1] = env[1], env[0]
		}
		remove := func(d *appsv1.Deployment) {
			container := &d.Spec.Template.Spec.Containers[0]
			container.Env = container.Env[:1]
		}
		for _, change := range []func(*appsv1.Deployment){swap, remove} {
			for range 5 {
				edit(ctx, "fighter", change)
				Expect(w.settle(ctx).Changes).To(ConsistOf(corrected))
			}
			edit(ctx, "fighter", change)
			Expect(w.rests(ctx).Contested).NotTo(BeEmpty())
			now = now.Add(resync)
			Expect(w.settle(ctx).Changes).To(ConsistOf(corrected))
			now = now.Add(resync)
			Expect(w.rests(ctx).Contested).To(BeEmpty())
		}
	})
})
