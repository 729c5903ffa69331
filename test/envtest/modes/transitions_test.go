package modes_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

const (
	auto     = v1alpha1.CredentialsAuto
	scoped   = v1alpha1.CredentialsScoped
	mirrored = v1alpha1.CredentialsMirrored
	only     = v1alpha1.CredentialsOperatorOnly
)

// walk takes an install over every change from one mode to another: each
// ordered pair of the four is on it once.
var walk = []v1alpha1.CredentialsMode{auto, scoped, auto, mirrored, auto, only, scoped, mirrored, scoped, only, mirrored, only, auto}

// changes counts how many changes ended as they should, of how many.
type changes struct{ passed, total int }

func (c *changes) tell() {
	GinkgoHelper()
	Expect(figures.Count(suite, "credential-mode-transitions", c.passed, c.total)).To(Succeed())
}

var _ = Describe("a change of mode", Ordered, func() {
	counted := &changes{}
	AfterAll(func() { counted.tell() })

	// effective is what a mode comes to.
	effective := func(mode v1alpha1.CredentialsMode, able bool) v1alpha1.CredentialsMode {
		switch {
		case mode == auto && able:
			return scoped
		case mode == auto:
			return only
		}
		return mode
	}
	settled := func(ctx context.Context, i *install, t *v1alpha1.TerdutTeam, mode v1alpha1.CredentialsMode, able bool) {
		GinkgoHelper()
		Eventually(i.mode(ctx)).Should(Equal(effective(mode, able)))
		switch effective(mode, able) {
		case scoped:
			if able {
				i.hasKey(ctx, t)
				Expect(i.accounts()).To(HaveLen(1))
			} else {
				env.EventuallyTold(ctx, t, v1alpha1.ConditionCredentialsReady, "False ScopedUnavailable")
				Expect(keySecret(ctx, t)).To(BeNil())
			}
			i.hasNoMirror(ctx, i.Tenant)
		case mirrored:
			i.hasNoKey(ctx, t)
			i.hasMirror(ctx, i.Tenant)
		case only:
			i.hasNoKey(ctx, t)
			i.hasNoMirror(ctx, i.Tenant)
		}
		// What had been copied is exchanged and revoked.
		Eventually(env.Told(ctx, i.Server, v1alpha1.ConditionCredentialsExposed)).Should(BeEmpty())
		env.EventuallyTold(ctx, i.Server, v1alpha1.ConditionReady, "True Ready")
	}

	for _, able := range []bool{true, false} {
		It(fmt.Sprintf("cleans up after the one before (service accounts: %v)", able), func(ctx SpecContext) {
			var lacks []string
			if !able {
				lacks = []string{"service-accounts"}
			}
			counted.total += len(walk) - 1
			i := newInstall(ctx, walk[0], lacks...)
			t := i.team(ctx, i.Tenant, "Ours")
			settled(ctx, i, t, walk[0], able)
			for n, mode := range walk[1:] {
				By(fmt.Sprintf("%s -> %s", walk[n], mode))
				copied, own := key(i.mirror(ctx, i.Tenant)), key(keySecret(ctx, t))
				steps.Change(ctx, env, i.Server, func(s *v1alpha1.TerdutServer) { s.Spec.Credentials.Mode = mode })
				settled(ctx, i, t, mode, able)
				if copied != "" {
					Eventually(func() int64 { return i.Peer.KeyID(copied) }).Should(BeZero(), "the key that was copied")
				}
				if own != "" && effective(mode, able) != scoped {
					Expect(i.Peer.KeyID(own)).To(BeZero(), "the key of the team")
				}
				counted.passed++
			}
		})
	}
})

var _ = Describe("an untouched install", func() {
	for _, mode := range []v1alpha1.CredentialsMode{auto, scoped, mirrored, only} {
		It(fmt.Sprintf("costs no write in mode %s", mode), Serial, func(ctx SpecContext) {
			i := newInstall(ctx, mode)
			t := i.team(ctx, i.Tenant, "Ours")
			wanted := []client.Object{t}
			switch mode {
			case auto, scoped:
				i.hasKey(ctx, t)
				wanted = append(wanted, keySecret(ctx, t))
			case mirrored:
				i.hasMirror(ctx, i.Tenant)
				wanted = append(wanted, i.mirror(ctx, i.Tenant))
			}
			env.EventuallyTold(ctx, i.Server, v1alpha1.ConditionReady, "True Ready")
			looks := func() int {
				n := 0
				for _, call := range i.Peer.Calls("GET") {
					if strings.HasSuffix(call, " /api/teams") || strings.HasSuffix(call, " /api/me") {
						n++
					}
				}
				return n
			}
			writes := func() []string { return env.Requests.Writes(i.Platform, i.Tenant) }
			// What came with the start may still be told once.
			i.Peer.ResetRequests()
			Eventually(looks).Should(BeNumerically(">=", 6))
			env.Requests.Reset()
			i.Peer.ResetRequests()
			Eventually(looks).Should(BeNumerically(">=", 10))
			Expect(writes()).To(BeEmpty())
			Expect(i.Peer.Writes()).To(BeZero())
			Expect(figures.Value(suite, "settled-writes-"+string(mode), len(writes())+i.Peer.Writes(), "")).To(Succeed())
			for _, o := range wanted {
				version := o.GetResourceVersion()
				Expect(env.Read(ctx, o)).To(Succeed())
				if _, team := o.(*v1alpha1.TerdutTeam); !team {
					Expect(o.GetResourceVersion()).To(Equal(version))
				}
			}
		})
	}
})
