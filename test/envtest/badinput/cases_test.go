package badinput_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// empty is a list that has lost what was on it.
var empty = fixed(200, "application/json", "[]")

func isChildList(r *http.Request) bool {
	return r.Method == http.MethodGet && (strings.HasSuffix(r.URL.Path, "/deadman-switches") || strings.HasSuffix(r.URL.Path, "/integrations"))
}

var _ = Describe("a list that had entries and is empty", func() {
	It("once, while its objects are deleted: is not believed", func(ctx SpecContext) {
		defer counted()()
		i := newInstall(ctx)
		i.full(ctx)
		id := i.Team.Status.TeamID
		var mu sync.Mutex
		met := map[string]bool{}
		i.proxy.misbehave(func(r *http.Request) *spoiling {
			mu.Lock()
			defer mu.Unlock()
			if !isChildList(r) || met[r.URL.Path] {
				return nil
			}
			met[r.URL.Path] = true
			return &spoiling{with: empty}
		})
		env.Remove(ctx, i.Switch, i.Source)
		env.EventuallyGone(ctx, i.Switch, i.Source)
		Expect(met).To(HaveLen(2), "both lists were spoiled")
		Expect(i.proxy.Switches(id)).To(BeEmpty())
		Expect(i.proxy.Integrations(id)).To(BeEmpty())
	})

	It("for long: costs no key, and makes nothing a second time", func(ctx SpecContext) {
		defer counted()()
		i := newInstall(ctx)
		i.full(ctx)
		key := i.published(ctx)
		i.proxy.ResetRequests()
		i.proxy.misbehave(func(r *http.Request) *spoiling {
			if !isChildList(r) {
				return nil
			}
			return &spoiling{with: empty}
		})
		// The integration can be asked for and is there; the switch cannot, and
		// its name is in use on the server, which is the truth.
		env.EventuallyTold(ctx, i.Source, v1alpha1.ConditionSynced, "Unknown UnexpectedAnswer")
		env.EventuallyTold(ctx, i.Switch, v1alpha1.ConditionReady, "False NameConflict")
		Eventually(func(g Gomega) {
			before := len(i.proxy.called())
			g.Consistently(func() string { return i.published(ctx) }, 2*resync).Should(Equal(key))
			g.Expect(len(i.proxy.called()) - before).To(BeNumerically("<", calm))
		}).Should(Succeed())
		Expect(i.proxy.handled("POST", "/deadman-switches") + i.proxy.handled("POST", "/integrations")).To(BeZero())
		Expect(i.proxy.called("DELETE")).To(BeEmpty())

		i.proxy.misbehave(nil)
		env.EventuallyReady(ctx, i.Objects()...)
		i.expectOneOfEach(ctx)
	})

	It("because everything was deleted: is made again, with a warning", func(ctx SpecContext) {
		defer counted()()
		i := newInstall(ctx)
		i.full(ctx)
		id := i.Team.Status.TeamID
		Expect(i.proxy.Model().DeleteTeam(id)).To(Succeed())
		Eventually(func() int64 { _ = env.Read(ctx, i.Team); return i.Team.Status.TeamID }).Should(And(Not(Equal(id)), Not(BeZero())))
		// Each is Ready until it has noticed.
		Eventually(func(g Gomega) {
			for _, o := range i.Objects() {
				g.Expect(env.Read(ctx, o)).To(Succeed())
			}
			g.Expect(i.Source.Status.Remote).To(HaveValue(HaveField("TeamID", i.Team.Status.TeamID)))
			g.Expect(i.Switch.Status.Remote).To(HaveValue(HaveField("TeamID", i.Team.Status.TeamID)))
			g.Expect(i.proxy.Escalation(i.Team.Status.TeamID).Levels).NotTo(BeEmpty())
		}).Should(Succeed())
		env.EventuallyReady(ctx, i.Objects()...)
		i.expectOneOfEach(ctx)
		Expect(env.Events(ctx, i.Team)).To(ContainElement(HavePrefix("Warning Recreated")))
	})
})

// awkward are names that would be something else where they are not quoted.
var awkward = []string{
	"../../users/1", "a/b", "..", "%2e%2e%2fusers", "?admin=1#x", "Zahlungen – Größe ß", "支払い 🔔", "quote\"brace}", "<b>&amp;</b>", "null",
	"del\u007f nel\u0085 csi\u009b ls\u2028 bom\ufeff x",
}

// paths are all that an operator without odd names asks for.
var paths = regexp.MustCompile(
	`^[A-Z]+ (/healthz|/api/(me|version|users|teams(/\d+(/(oidc-groups|escalation|(deadman-switches|integrations)(/\d+)?))?)?))$`)

var _ = Describe("a name in another script, or that looks like a path", func() {
	It("stays a name", func(ctx SpecContext) {
		var bodies []func()
		for _, name := range awkward {
			bodies = append(bodies, func() { keepsName(ctx, name) })
		}
		together(bodies...)
	})
})

func keepsName(ctx context.Context, name string) {
	defer counted()()
	i := newInstall(ctx)
	i.Team.Spec.DisplayName, i.Switch.Spec.Name, i.Source.Spec.Name = name, name, name
	i.proxy.misbehave(nil)
	i.full(ctx)
	id := i.Team.Status.TeamID
	Expect(i.proxy.Teams()).To(ConsistOf(HaveField("Name", name)))
	Expect(i.proxy.Switches(id)).To(ConsistOf(HaveField("Name", name)))
	Expect(i.proxy.Integrations(id)).To(ConsistOf(HaveField("Name", name)))
	Expect(i.proxy.handled("POST", "/api/teams")).To(Equal(1))
	env.Remove(ctx, i.Objects()...)
	env.EventuallyGone(ctx, i.Objects()...)
	Expect(i.proxy.Teams()).To(BeEmpty())
	Expect(i.proxy.called()).To(HaveEach(MatchRegexp(paths.String())))
}

var _ = Describe("a body that the server cannot digest", func() {
	It("is nobody else's trouble, and can be deleted", func(ctx SpecContext) {
		var bodies []func()
		for _, with := range []spoiler{
			fixed(500, "application/json", `{"error":"panic"}`), hang, fixed(200, "text/html", page), fixed(201, "application/json", `{"id":-1,"name":"x"}`),
		} {
			bodies = append(bodies, func() { harmsNobody(ctx, with) })
		}
		together(bodies...)
	})
})

func harmsNobody(ctx context.Context, with spoiler) {
	defer counted()()
	i := newInstall(ctx)
	i.full(ctx)
	i.proxy.misbehave(poison(with))
	poisoned := i.teamIn(namespace(ctx), "poisoned", "poison")
	env.Create(ctx, poisoned)
	Eventually(func() int { return len(i.proxy.called("POST")) }).Should(BeNumerically(">=", 4), "more failures than open the breaker")
	for _, name := range []string{"first", "second"} {
		other := i.teamIn(namespace(ctx), name, name)
		env.Create(ctx, other)
		env.EventuallyReady(ctx, other)
	}
	Expect(env.Read(ctx, poisoned)).To(Succeed())
	Expect(meta.IsStatusConditionTrue(poisoned.Status.Conditions, v1alpha1.ConditionReady)).To(BeFalse())
	i.eventuallyCalm(ctx)
	Expect(env.Told(ctx, i.server, v1alpha1.ConditionReady)()).To(Equal("True Ready"))
	env.Remove(ctx, poisoned)
	env.EventuallyGone(ctx, poisoned)
}

var _ = Describe("the objects of a server that hangs", func() {
	It("does not keep those of another server waiting", func(ctx SpecContext) {
		defer counted()()
		silent, other := newInstall(ctx), newInstall(ctx)
		silent.full(ctx)
		silent.proxy.misbehave(everything(hang))
		// More than there are workers.
		for n := range 10 {
			env.Create(ctx, silent.teamIn(silent.namespace, fmt.Sprintf("team-%d", n), fmt.Sprintf("Team %d", n)))
		}
		env.EventuallyTold(ctx, silent.Team, v1alpha1.ConditionSynced, "Unknown ServerUnreachable")
		other.full(ctx)
		Expect(silent.proxy.called("POST")).To(BeEmpty(), "the breaker is open before anything is made")
		silent.eventuallyCalm(ctx)
	})
})

// poison spoils what creates a team of that name, which does not reach the
// server.
func poison(with spoiler) func(*http.Request) *spoiling {
	return func(r *http.Request) *spoiling {
		if r.Method != http.MethodPost || r.URL.Path != "/api/teams" {
			return nil
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !bytes.Contains(body, []byte("poison")) {
			return nil
		}
		return &spoiling{with: with}
	}
}

var _ = Describe("a server whose words differ from try to try", func() {
	It("is no news after the first", func(ctx SpecContext) {
		defer counted()()
		i := newInstall(ctx)
		try := 0
		var mu sync.Mutex
		i.proxy.misbehave(func(r *http.Request) *spoiling {
			if r.Method != http.MethodPost || !api(r) {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			try++
			return &spoiling{with: refusal(try)}
		})
		env.Create(ctx, i.Team)
		env.EventuallyTold(ctx, i.Team, v1alpha1.ConditionSynced, "False RequestRefused")
		watched := versions(ctx, i.Team)
		already := len(i.proxy.called("POST"))
		Eventually(func() int { return len(i.proxy.called("POST")) }).Should(BeNumerically(">=", already+3))
		Expect(versions(ctx, i.Team)).To(Equal(watched))
		eventuallyOnce(ctx, i.Team, "Warning RequestRefused")
	})
})

// eventuallyOnce: an Event is told once, whatever is tried again.
func eventuallyOnce(ctx context.Context, o client.Object, prefix string) {
	GinkgoHelper()
	Eventually(func() ([]string, error) {
		all, err := env.Events(ctx, o)
		var out []string
		for _, one := range all {
			if strings.HasPrefix(one, prefix) {
				out = append(out, one)
			}
		}
		return out, err
	}).Should(HaveLen(1))
}
