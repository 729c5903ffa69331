package namespaced_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

// install is one server, in the namespace platform. It admits tenant and
// stranger; nobody has a Role in stranger.
type install struct {
	platform, tenant, stranger string
	server                     *v1alpha1.TerdutServer
	peer                       *testenv.Peer
	stop                       func() error
}

// newInstall makes the namespaces, and runs the operator in platform and tenant
// until the end of the spec.
func newInstall(ctx context.Context, change func(*v1alpha1.TerdutServer)) *install {
	GinkgoHelper()
	i := &install{
		platform: env.NewNamespace(ctx, "platform", nil),
		tenant:   env.NewNamespace(ctx, "tenant", sample.Admitted()),
		stranger: env.NewNamespace(ctx, "stranger", sample.Admitted()),
	}
	for _, watched := range []string{i.platform, i.tenant} {
		Expect(env.BindIn(ctx, watched)).To(Succeed())
	}
	var err error
	i.peer, err = env.Network.Serve(i.platform, "terdut", refserver.Options{})
	Expect(err).NotTo(HaveOccurred())
	i.run(i.platform, i.tenant)
	DeferCleanup(func() { Expect(i.stop()).To(Succeed()) })

	i.server = sample.Server(i.platform)
	change(i.server)
	env.Create(ctx, sample.Password(i.platform), i.server)
	env.EventuallyReady(ctx, i.server)
	return i
}

func asIs(*v1alpha1.TerdutServer) {}

// run runs the operator in those namespaces, and no longer in others.
func (i *install) run(namespaces ...string) {
	GinkgoHelper()
	if i.stop != nil {
		Expect(i.stop()).To(Succeed())
	}
	var err error
	i.stop, err = env.StartOperator(controllers.Options{
		Namespaces: namespaces, Resync: resync, Limits: connect.Limits{Patience: resync},
	})
	Expect(err).NotTo(HaveOccurred())
}

func (i *install) team(namespace, displayName string) *v1alpha1.TerdutTeam {
	return sample.Team(i.server, namespace, displayName)
}

// full is one object of each kind in a namespace, the team first.
func (i *install) full(ctx context.Context, namespace string) []client.Object {
	GinkgoHelper()
	t := i.team(namespace, "Payments")
	env.Create(ctx, t)
	full := sample.FullOf(t)
	env.Create(ctx, full.Children()...)
	return full.Objects()
}

// says is a condition as "Status Reason: message", of the generation that is
// there now; empty when it is missing or speaks of another generation.
func says(ctx context.Context, o client.Object, conditionType string) func() string {
	return func() string {
		if err := env.Read(ctx, o); err != nil {
			return err.Error()
		}
		c := meta.FindStatusCondition(steps.Conditions(o), conditionType)
		if c == nil || c.ObservedGeneration != o.GetGeneration() {
			return ""
		}
		return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
	}
}

func eventuallySays(ctx context.Context, o client.Object, conditionType, begin string) {
	GinkgoHelper()
	Eventually(says(ctx, o, conditionType)).Should(HavePrefix(begin), func() string {
		return fmt.Sprintf("%T %s: %+v", o, o.GetName(), steps.Conditions(o))
	})
}
