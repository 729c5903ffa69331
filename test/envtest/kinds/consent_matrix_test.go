package kinds_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

// policy is a consent, and what it says to a namespace that bears the label.
type policy struct {
	name   string
	admits bool
	v1alpha1.AllowedNamespaces
}

func policies() []policy {
	selector := func(value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{sample.Allowed: value}}
	}
	return []policy{
		{"None", false, v1alpha1.AllowedNamespaces{From: v1alpha1.FromNone}},
		{"Same", false, v1alpha1.AllowedNamespaces{From: v1alpha1.FromSame}},
		{"All", true, v1alpha1.AllowedNamespaces{From: v1alpha1.FromAll}},
		{"Selector that matches", true, v1alpha1.AllowedNamespaces{From: v1alpha1.FromSelector, Selector: selector("true")}},
		{"Selector that does not match", false, v1alpha1.AllowedNamespaces{From: v1alpha1.FromSelector, Selector: selector("never")}},
	}
}

// paths are the ways on which something happens to an object of a tenant. Each
// gets an install whose consent is already as the policy says, and a team that
// was made while it was admitted.
var paths = []struct {
	name string
	// act does it and waits until it has had its effect.
	act func(ctx context.Context, i *steps.Install, team *v1alpha1.TerdutTeam, admitted bool)
	// calls to the server where the answer is no.
	calls []string
}{
	{name: "create", act: func(ctx context.Context, i *steps.Install, team *v1alpha1.TerdutTeam, admitted bool) {
		fresh := i.TeamIn(team.Namespace, "Fresh")
		env.Create(ctx, fresh)
		eventuallyAnswered(ctx, fresh, admitted)
	}},
	{name: "resync", act: func(ctx context.Context, _ *steps.Install, team *v1alpha1.TerdutTeam, admitted bool) {
		// A change of the spec is a pass that is seen to end.
		steps.Change(ctx, env, team, func(t *v1alpha1.TerdutTeam) { t.Spec.OIDC = &v1alpha1.TeamOIDC{MemberGroup: "members"} })
		eventuallyAnswered(ctx, team, admitted)
	}},
	{name: "child", act: func(ctx context.Context, _ *steps.Install, team *v1alpha1.TerdutTeam, admitted bool) {
		children := []*v1alpha1.TerdutAlertSource{sample.Source(team, "one"), sample.Source(team, "two")}
		for _, c := range children {
			env.Create(ctx, c)
			if admitted {
				env.EventuallyReady(ctx, c)
			} else {
				env.EventuallyTold(ctx, c, v1alpha1.ConditionReady, "False RefNotPermitted")
			}
		}
	}},
	{name: "delete", act: func(ctx context.Context, i *steps.Install, team *v1alpha1.TerdutTeam, _ bool) {
		env.Remove(ctx, team)
		env.EventuallyGone(ctx, team)
		Expect(i.Peer.Teams()).To(BeEmpty())
	}, calls: []string{"GET /api/teams", "DELETE /api/teams/{teamID}"}},
}

func eventuallyAnswered(ctx context.Context, team *v1alpha1.TerdutTeam, admitted bool) {
	GinkgoHelper()
	if admitted {
		env.EventuallyReady(ctx, team)
		return
	}
	env.EventuallyTold(ctx, team, v1alpha1.ConditionReady, "False RefNotPermitted")
}

// readsOf are the Secrets that were read in the namespace of the tenant. Those
// of the server are read by its own controller, on its own behalf.
func readsOf(i *steps.Install) []string {
	var out []string
	for _, read := range env.Requests.SecretReads() {
		if strings.HasPrefix(read, i.Tenant+"/") {
			out = append(out, read)
		}
	}
	return out
}

var _ = ReportAfterSuite("consent matrix", func(report Report) {
	passed, total := 0, 0
	for _, spec := range report.SpecReports.WithLeafNodeType(types.NodeTypeIt) {
		if !slices.Contains(spec.Labels(), "consent-matrix") {
			continue
		}
		total++
		if spec.State == types.SpecStatePassed {
			passed++
		}
	}
	if total > 0 && !report.SuiteConfig.DryRun {
		Expect(figures.Count(suite, "consent-matrix", passed, total)).To(Succeed())
	}
})

var _ = Describe("the consent matrix", func() {
	for _, p := range policies() {
		for _, own := range []bool{true, false} {
			for _, path := range paths {
				where := "another namespace"
				if own {
					where = "the server's own namespace"
				}
				It(fmt.Sprintf("%s, %s, %s", p.name, where, path.name), Label("consent-matrix"), func(ctx SpecContext) {
					i := env.ReadyInstall(ctx, refserver.Options{})
					namespace := i.Tenant
					if own {
						namespace = i.Platform
					}
					team := i.TeamIn(namespace, "Payments")
					if own {
						team.Spec.ServerRef.Namespace = ""
					}
					env.Create(ctx, team)
					env.EventuallyReady(ctx, team)
					admitted := own || p.admits
					steps.Change(ctx, env, i.Server, func(s *v1alpha1.TerdutServer) { s.Spec.AllowedTeams.Namespaces = p.AllowedNamespaces })
					eventuallyAnswered(ctx, team, admitted)

					i.Peer.ResetRequests()
					env.Requests.Reset()
					path.act(ctx, i, team, admitted)
					if admitted {
						Expect(teamCalls(i)).NotTo(BeEmpty())
						return
					}
					Expect(teamCalls(i)).To(HaveExactElements(path.calls), "calls for somebody who is not admitted")
					Expect(readsOf(i)).To(BeEmpty(), "Secrets read for somebody who is not admitted")
				})
			}
		}
	}
})
