package deletion_test

import (
	"fmt"
	"slices"
	"strings"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// The dimensions of the matrix. Each is in the state that is named here at the
// moment of the deletion; before that everything was Ready.
type (
	serverState string
	keyState    string
	policy      string
	trigger     string
	consent     string
)

const (
	// up: it answers.
	up serverState = "up"
	// failing: it answers 500 to everything.
	failing serverState = "failing"
	// unreachable: it takes no connections.
	unreachable serverState = "unreachable"
	// terminating: its TerdutServer is being deleted, held by its live teams,
	// and it answers.
	terminating serverState = "terminating"
	// gone: its TerdutServer was taken away by force.
	gone serverState = "gone"

	// good: the server accepts the operator's key.
	good keyState = "key good"
	// revoked: the server accepts it no more, nor any other key of an
	// administrator.
	revoked keyState = "key revoked"
	// missing: it is revoked, and its Secret is deleted.
	missing keyState = "key missing"

	deletes policy = "Delete"
	orphans policy = "Orphan"

	// byKubectl: one after the other, what belongs to the team first.
	byKubectl trigger = "by kubectl"
	// byTenantNamespace: with their namespace.
	byTenantNamespace trigger = "with the tenant namespace"
	// byServerNamespace: the server goes with its namespace, and what lived on
	// it is deleted afterwards.
	byServerNamespace trigger = "after the server namespace"
	// byBothNamespaces: both namespaces go at the same time.
	byBothNamespaces trigger = "with both namespaces"
	// byOwner: by the garbage collector, with an object that owns them.
	byOwner trigger = "with their owner"
	// byForeground: all at once, in the foreground, and so is a server that
	// terminates.
	byForeground trigger = "in the foreground"

	given     consent = "consent given"
	withdrawn consent = "consent revoked"
)

var (
	serverStates = []serverState{up, failing, unreachable, terminating, gone}
	keyStates    = []keyState{good, revoked, missing}
	policies     = []policy{deletes, orphans}
	triggers     = []trigger{byKubectl, byTenantNamespace, byServerNamespace, byBothNamespaces, byOwner, byForeground}
	consents     = []consent{given, withdrawn}
)

// cell is one team with one of each kind on it, and how they are deleted.
type cell struct {
	server  serverState
	key     keyState
	policy  policy
	trigger trigger
	consent consent
}

// String names the cell as CELLS and -ginkgo.focus take it.
func (c cell) String() string {
	return fmt.Sprintf("%s, %s, %s, %s, %s", c.server, c.key, c.policy, c.trigger, c.consent)
}

// deployed tells whether the operator installs the server of the cell. The
// others are external. What the presence of a Deployment decides is seen with
// both: a terminating server that answers is deployed when its teams are
// deleted by kubectl, and external when they go with their namespace.
func (c cell) deployed() bool {
	return slices.Contains([]trigger{byKubectl, byServerNamespace, byForeground}, c.trigger)
}

// mode is what the tenants of the server get. Where teams have keys of their
// own, deletion has one thing more to clean up.
func (c cell) mode() v1alpha1.CredentialsMode {
	if c.deployed() {
		return v1alpha1.CredentialsScoped
	}
	return v1alpha1.CredentialsOperatorOnly
}

// pointless says why a combination is no cell; empty when it is one.
func pointless(c cell) string {
	switch {
	case c.server == gone && c.key != good:
		return "a server that is gone has no key"
	case c.server == gone && c.consent == withdrawn:
		return "a server that is gone consents to nothing: its consent went with it"
	case c.server == gone && (c.trigger == byServerNamespace || c.trigger == byBothNamespaces):
		return "a server that is gone lives in no namespace"
	case c.key == revoked && (c.server == failing || c.server == unreachable):
		return "a server that answers nothing cannot reject a key"
	}
	return ""
}

// combinations are all combinations, those that are no cells by their reason.
func combinations() (cells []cell, not map[string][]cell) {
	not = map[string][]cell{}
	for _, s := range serverStates {
		for _, k := range keyStates {
			for _, p := range policies {
				for _, t := range triggers {
					for _, n := range consents {
						c := cell{s, k, p, t, n}
						if why := pointless(c); why != "" {
							not[why] = append(not[why], c)
						} else {
							cells = append(cells, c)
						}
					}
				}
			}
		}
	}
	return cells, not
}

// table prints how many combinations are cells, by server and key, and why the
// others are none.
func table() string {
	cells, not := combinations()
	var out strings.Builder
	fmt.Fprintf(&out, "%-14s", "")
	for _, k := range keyStates {
		fmt.Fprintf(&out, "%-13s", k)
	}
	for _, s := range serverStates {
		fmt.Fprintf(&out, "\n%-14s", s)
		for _, k := range keyStates {
			n := 0
			for _, c := range cells {
				if c.server == s && c.key == k {
					n++
				}
			}
			fmt.Fprintf(&out, "%-13d", n)
		}
	}
	fmt.Fprintf(&out, "\n%d cells. No cells are:\n", len(cells))
	reasons := make([]string, 0, len(not))
	for why := range not {
		reasons = append(reasons, why)
	}
	slices.Sort(reasons)
	for _, why := range reasons {
		fmt.Fprintf(&out, "%4d  %s\n", len(not[why]), why)
	}
	return out.String()
}
