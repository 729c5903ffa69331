package deletion_test

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

// settled is a world in which everything is Ready.
func settled(ctx context.Context, deployed bool) *world {
	GinkgoHelper()
	w, err := newWorld(ctx)
	Expect(err).NotTo(HaveOccurred())
	mode := v1alpha1.CredentialsOperatorOnly
	if deployed {
		mode = v1alpha1.CredentialsScoped
	}
	Expect(w.install(ctx, deployed, mode)).To(Succeed())
	Expect(w.populate(ctx, deletes, false)).To(Succeed())
	Expect(w.ready(ctx)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(w.takeAway(ctx, w.server)).To(Succeed()) })
	return w
}

// told is a condition as "Status Reason".
func told(ctx context.Context, o client.Object, conditionType string) func() string {
	return func() string {
		if err := read(ctx, o); err != nil {
			return err.Error()
		}
		c := meta.FindStatusCondition(steps.Conditions(o), conditionType)
		if c == nil {
			return ""
		}
		return string(c.Status) + " " + c.Reason
	}
}

func eventuallyGone(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Eventually(func() bool { return apierrors.IsNotFound(read(ctx, o)) }).Should(BeTrue(), "%T %s", o, o.GetName())
	}
}

func eventuallyEvent(ctx context.Context, o client.Object, want gomegatypes.GomegaMatcher) {
	GinkgoHelper()
	Eventually(func() ([]string, error) { return env.Events(ctx, o) }).Should(ContainElement(want))
}

// deletionCalls are the calls that delete something, or empty a policy.
func (w *world) deletionCalls() int {
	all := 0
	for _, kind := range kinds {
		tries, _ := deletionsIn(w.peer.Requests(), kind)
		all += tries
	}
	return all
}

var _ = Describe("a deletion that does not end", Serial, func() {
	It("is told to be stuck after half an hour, with the way out, and ends when the server is back", func(ctx SpecContext) {
		w := settled(ctx, false)
		w.peer.Down(true)
		Expect(deleteAll(ctx, w.objects())).To(Succeed())
		for _, o := range w.objects() {
			Eventually(told(ctx, o, v1alpha1.ConditionDegraded)).Should(Equal("True ServerUnreachable"))
		}
		DeferCleanup(func() { ahead.Store(0) })
		ahead.Store(int64(29 * time.Minute))
		for _, o := range w.objects() {
			Consistently(told(ctx, o, v1alpha1.ConditionDegraded), resync/2).Should(Equal("True ServerUnreachable"))
		}
		ahead.Store(int64(31 * time.Minute))
		for _, o := range w.objects() {
			Eventually(told(ctx, o, v1alpha1.ConditionDegraded)).Should(Equal("True DeletionStuck"))
			Expect(meta.FindStatusCondition(steps.Conditions(o), v1alpha1.ConditionDegraded).Message).To(And(
				ContainSubstring(v1alpha1.AnnotationForceOrphan), ContainSubstring("the server does not answer")))
			Expect(o.GetFinalizers()).To(ContainElement(v1alpha1.Finalizer))
			eventuallyEvent(ctx, o, HavePrefix("Warning DeletionStuck"))
		}
		w.peer.Down(false)
		eventuallyGone(ctx, w.objects()...)
		Expect(w.peer.Teams()).To(BeEmpty())
	})
})

var _ = Describe("a server that is deleted in the foreground with live teams", func() {
	It("loses its children for good, and keeps the key until no team needs it", func(ctx SpecContext) {
		w := settled(ctx, true)
		secret := w.secret(w.platform, v1alpha1.CredentialsSecretName(serverName))
		Expect(read(ctx, secret)).To(Succeed())
		before := secret.DeepCopy()
		Expect(env.Admin.Delete(ctx, w.server, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		children := []client.Object{
			&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.platform, Name: serverName}},
			&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.platform, Name: serverName}},
		}
		missing := func(o client.Object) bool {
			return apierrors.IsNotFound(env.Admin.Get(ctx, client.ObjectKeyFromObject(o), o))
		}
		for _, o := range children {
			Eventually(func() bool { return missing(o) }).Should(BeTrue(), "%T", o)
		}
		Eventually(told(ctx, w.server, v1alpha1.ConditionDegraded)).Should(Equal("True TeamsAttached"))
		Consistently(func(g Gomega) {
			for _, o := range children {
				g.Expect(missing(o)).To(BeTrue(), "%T is made again", o)
			}
			g.Expect(read(ctx, secret)).To(Succeed())
			g.Expect(secret.UID).To(Equal(before.UID))
			g.Expect(secret.Data).To(Equal(before.Data))
			g.Expect(presence(ctx, w.secret(w.platform, v1alpha1.NextCredentialsSecretName(serverName)))).To(Equal(absent))
		}, 2*resync).Should(Succeed())
		Expect(secret.DeletionTimestamp).NotTo(BeNil())

		Expect(deleteAll(ctx, w.objects())).To(Succeed())
		eventuallyGone(ctx, append(w.objects(), w.server, secret)...)
		for _, o := range children {
			Expect(missing(o)).To(BeTrue())
		}
	})
})

var _ = Describe("a server that is deleted after its teams", func() {
	It("waits for what belonged to a team and goes after it", func(ctx SpecContext) {
		w := settled(ctx, false)
		// The team stays on the server, and so would its integration.
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"deletionPolicy":"Orphan"}}`))
		Expect(env.Admin.Patch(ctx, w.team, patch)).To(Succeed())
		w.peer.SetFault(func(_ *http.Request, route string) refserver.Fault {
			if route == deletesOf["TerdutAlertSource"] {
				return refserver.JSONError(500, "internal error")
			}
			return nil
		})
		Expect(deleteAll(ctx, append(w.objects(), w.server))).To(Succeed())
		eventuallyGone(ctx, w.team, w.rule, w.deadman)
		Eventually(told(ctx, w.server, v1alpha1.ConditionDegraded)).Should(Equal("True DeletionBlocked"))
		Eventually(func() string {
			Expect(read(ctx, w.server)).To(Succeed())
			return meta.FindStatusCondition(w.server.Status.Conditions, v1alpha1.ConditionDegraded).Message
		}).Should(ContainSubstring("TerdutAlertSource " + w.tenant + "/payments"))
		w.peer.SetFault(nil)
		eventuallyGone(ctx, w.source, w.server)
		Expect(w.peer.Teams()).To(HaveLen(1))
		Expect(w.peer.Integrations(w.team.Status.TeamID)).To(BeEmpty())
		Expect(said.releases(w.tenant)).To(BeZero())
	})
})

var _ = Describe("what has lost to another object", func() {
	It("is deleted without a call, and leaves the winner's object", func(ctx SpecContext) {
		w := settled(ctx, false)
		losers := w.losers(ctx)
		for i, want := range []string{"False NameConflict", "False WaitingForRule", "False NameConflict", "False NameConflict"} {
			Eventually(told(ctx, losers[i], v1alpha1.ConditionReady)).Should(Equal(want), kinds[i])
		}
		w.peer.ResetRequests()
		Expect(deleteAll(ctx, losers)).To(Succeed())
		eventuallyGone(ctx, losers...)
		w.stands(ctx)
	})

	It("is deleted without a call when it has recorded the winner's object too", func(ctx SpecContext) {
		w := settled(ctx, false)
		loser := w.team.DeepCopy()
		loser.ObjectMeta = metav1.ObjectMeta{Namespace: w.tenant, Name: "forged"}
		loser.Spec.DisplayName = "Forged"
		Expect(env.Admin.Create(ctx, loser)).To(Succeed())
		Eventually(told(ctx, loser, v1alpha1.ConditionReady)).Should(Equal("True Ready"))
		own := loser.Status.TeamID
		Eventually(func() error {
			if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(loser), loser); err != nil {
				return err
			}
			loser.Status.Remote = w.team.Status.Remote.DeepCopy()
			loser.Status.Remote.OwnerUID = loser.UID
			return env.Admin.Status().Update(ctx, loser)
		}).Should(Succeed())
		w.peer.ResetRequests()
		Expect(deleteAll(ctx, []client.Object{loser})).To(Succeed())
		eventuallyGone(ctx, loser)
		Expect(w.peer.Model().DeleteTeam(own)).To(Succeed())
		w.stands(ctx)
	})
})

// losers makes one object of each kind that wants what another one has.
func (w *world) losers(ctx context.Context) []client.Object {
	GinkgoHelper()
	var losers []client.Object
	for _, winner := range w.objects() {
		loser, ok := winner.DeepCopyObject().(client.Object)
		Expect(ok).To(BeTrue())
		loser.SetName("loser")
		loser.SetUID("")
		loser.SetResourceVersion("")
		loser.SetFinalizers(nil)
		Expect(env.Admin.Create(ctx, loser)).To(Succeed())
		losers = append(losers, loser)
	}
	return losers
}

// stands expects everything of the world to be where it was, and nothing to
// have been deleted.
func (w *world) stands(ctx context.Context) {
	GinkgoHelper()
	Expect(w.deletionCalls()).To(BeZero())
	id := w.team.Status.TeamID
	Expect(w.peer.Teams()).To(HaveExactElements(HaveField("ID", id)))
	Expect(w.peer.Escalation(id).Levels).NotTo(BeEmpty())
	Expect(w.peer.Switches(id)).To(HaveLen(1))
	Expect(w.peer.Integrations(id)).To(HaveLen(1))
	for _, o := range w.objects() {
		Eventually(told(ctx, o, v1alpha1.ConditionReady)).Should(Equal("True Ready"))
	}
}
