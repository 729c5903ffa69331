package steps

import (
	"context"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
)

// Install is one server in the platform team's namespace and a tenant that it
// admits.
type Install struct {
	Platform, Tenant string
	Server           *v1alpha1.TerdutServer
	// Peer answers for the server.
	Peer *testenv.Peer

	env *Env
}

// NewInstall makes an install whose server is a sample with some changes and
// whose peer has those options. It does not wait for the server.
func (e *Env) NewInstall(ctx context.Context, options refserver.Options, changes ...func(*v1alpha1.TerdutServer)) *Install {
	ginkgo.GinkgoHelper()
	i := &Install{
		Platform: e.NewNamespace(ctx, "platform", nil), Tenant: e.NewNamespace(ctx, "tenant", sample.Admitted()), env: e,
	}
	var err error
	i.Peer, err = e.Network.Serve(i.Platform, sample.ServerName, options)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	i.Server = sample.Server(i.Platform)
	for _, change := range changes {
		change(i.Server)
	}
	e.Create(ctx, sample.Password(i.Platform), i.Server)
	return i
}

// ReadyInstall is NewInstall, and waits until the operator has the server's key.
func (e *Env) ReadyInstall(ctx context.Context, options refserver.Options, changes ...func(*v1alpha1.TerdutServer)) *Install {
	ginkgo.GinkgoHelper()
	i := e.NewInstall(ctx, options, changes...)
	e.EventuallyReady(ctx, i.Server)
	return i
}

// Team is a team of the tenant, to be created.
func (i *Install) Team(displayName string) *v1alpha1.TerdutTeam {
	return i.TeamIn(i.Tenant, displayName)
}

// TeamIn is a team in a namespace, to be created.
func (i *Install) TeamIn(namespace, displayName string) *v1alpha1.TerdutTeam {
	return sample.Team(i.Server, namespace, displayName)
}

// ReadyTeam makes a team of the tenant and waits for it.
func (i *Install) ReadyTeam(ctx context.Context, displayName string) *v1alpha1.TerdutTeam {
	ginkgo.GinkgoHelper()
	return i.ReadyTeamIn(ctx, i.Tenant, displayName)
}

// ReadyTeamIn makes a team in a namespace and waits for it.
func (i *Install) ReadyTeamIn(ctx context.Context, namespace, displayName string) *v1alpha1.TerdutTeam {
	ginkgo.GinkgoHelper()
	t := i.TeamIn(namespace, displayName)
	i.env.Create(ctx, t)
	i.env.EventuallyReady(ctx, t)
	return t
}

// Full makes a team of the tenant, Payments, and one of each kind on it, and
// waits for them.
func (i *Install) Full(ctx context.Context) *sample.Full {
	ginkgo.GinkgoHelper()
	team := i.Team("Payments")
	i.env.Create(ctx, team)
	full := sample.FullOf(team)
	i.env.Create(ctx, full.Children()...)
	i.env.EventuallyReady(ctx, full.Objects()...)
	return full
}
