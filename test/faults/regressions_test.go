package faults

import (
	"slices"
	"strings"
	"testing"
)

// TestRegressions plays what once went wrong, whatever the sample of the
// campaign is.
func TestRegressions(t *testing.T) {
	for _, c := range []struct{ why, scenario, fault string }{
		{
			"a key that an incarnation minted after it had lost its lease stayed valid until the next restart",
			"rotate-server", "overlap @ REST POST /api/service-accounts/{id}/keys #1",
		},
		{
			"a cache that lagged showed a rotation as asked for that was done already, and it was done twice",
			"rotate-server", "lagging-view @ K8S apply TerdutServer/status platform/terdut #1",
		},
		{
			"a new incarnation whose cache was old took a published integration for one that nothing remembers, and deleted it",
			"rotate-source", "old-cache @ REST PATCH /api/teams/{id}/integrations/{id} #1",
		},
		{
			"a cache that lagged showed a creation as begun that was over long ago, and the integration was made a second time",
			"changed-on-server", "lagging-view @ REST PUT /api/teams/{id} #1",
		},
		{
			"a server that came back from a backup gave the ID of an integration out again, and its old key passed for the new one, which was lost",
			"server-of-yesterday", "crash-before @ K8S apply Secret platform/alerts-terdut-webhook #1",
		},
		{
			"the same of a team's own key, which is found by the IDs of account and key",
			"server-of-before-scoped", "crash-after @ REST POST /api/service-accounts #1",
		},
		{
			"a status of before the last exchange did not show which key was in its grace, and that was revoked as one that a crash had left behind",
			"rotate-server-mirrored", "old-cache @ K8S apply Secret payments/terdut.platform-terdut-credentials #1",
		},
		{
			"a cache that was old had the operator's key copied to a namespace whose only team was being deleted",
			"mode-and-team-go", "old-cache @ K8S apply TerdutServer/status platform/terdut #1",
		},
		{
			"a cache that showed a server as it was before its upgrade, and its Deployment as it is, had the upgrade taken back for a while",
			"upgrade", "spread-back @ K8S apply Deployment platform/terdut #1",
		},
		{
			"a cache that lagged showed a team as it was before its name was changed, and the old name was given back to it for a while",
			"rename", "lagging-view @ REST PUT /api/teams/{id} #1",
		},
		{
			"a server that did not answer what it offers got a key of a user, and one of a service account soon after",
			"bootstrap-race", "read-500 @ REST GET /healthz #1",
		},
		{
			"a single 401, from whatever gave it, had the operator's key given up and another one made",
			"bootstrapped-before", "read-401 @ REST GET /api/me #3",
		},
		{
			"a cache that showed no teams had a server let go before them",
			"delete-all-mirrored", "read-empty @ CACHE list TerdutTeam / #1",
		},
		{
			"a cache that showed the mode of before had a team's key made again for a moment",
			"scoped-to-mirrored", "spread-back @ REST DELETE /api/service-accounts/{id} #1",
		},
		{
			"a cache that showed no teams for a moment cost a namespace its copy of the key",
			"rotate-server-mirrored", "read-empty @ CACHE list TerdutTeam / #1",
		},
		{
			"a single 401 while a new key was tried had it revoked, and the exchange given up",
			"install", "read-401 @ REST GET /api/teams #2",
		},
		{
			"one list of keys without the one that was exchanged left that valid for ever",
			"install", "read-empty @ REST GET /api/users/{id}/api-keys #2",
		},
		{
			"a cache that showed a server which was gone had the Secrets with its key made again",
			"install-external", "spread-back @ K8S patch Secret platform/terdut-operator-credentials #1",
		},
		{
			"one list without a switch that was there had it pass for one that was just made, and not for one that was found",
			"old-statuses", "read-empty @ REST GET /api/teams/{id}/deadman-switches #1",
		},
		{
			"one list without an account that had just been made had another key written over its key, and that passed for it",
			"orphan-and-back", "read-empty @ REST GET /api/service-accounts #7",
		},
		{
			"a cache that showed no copy of the key had its loss written down while it stayed, and the key was exchanged twice",
			"consent", "read-empty @ CACHE list Secret / #1",
		},
		{
			"a cache that showed no teams had the exchanged key revoked while a copy of it was in use",
			"rotate-server-leaked", "read-empty @ CACHE list TerdutTeam / #4",
		},
		{
			"a cache that showed no rules had a team's policy cleared while the next rule waited",
			"two-rules", "read-empty @ CACHE list TerdutEscalationRule platform/ #1",
		},
		{
			"a name that turned out to be taken left a Secret with a key that opens nothing",
			"recreated-at-once", "read-empty @ REST GET /api/teams/{id}/integrations #1",
		},
		{
			"what was found out about a server was not written down until the next resync but one, because the key was good",
			"bootstrapped-before-oldest", "refused @ K8S apply TerdutServer/status platform/terdut #3 && 409 @ K8S apply TerdutServer/status platform/terdut #4",
		},
		{
			"a policy that a server does not let go was left behind without a word, since the process that let the rule go ended right then",
			"consent-revoked-deletion", "422 @ REST PUT /api/teams/{id}/escalation #1 && crash-after @ K8S patch TerdutEscalationRule payments/policy #1",
		},
		{
			"the end of a process did not write back the operator's key, whose Secret people had taken away with its finalizer",
			"operator-key-stripped", "429 @ K8S apply Secret platform/terdut-operator-credentials #1 && stop-before @ K8S apply TerdutTeam/status payments/payments #1",
		},
		{
			"one list of keys without any left one valid that nobody holds",
			"server-of-other-keys", "read-empty @ REST GET /api/service-accounts/{id}/keys #1",
		},
		{
			"a source whose record was lost had another key written over its key, on the word of one list",
			"statuses-lost", "read-empty @ REST GET /api/teams/{id}/integrations #1",
		},
		{
			"the same of a source whose record was old",
			"old-statuses", "read-empty @ REST GET /api/teams/{id}/integrations #1",
		},
		{
			"a server was Ready with a Deployment that had just been made again",
			"children-of-server-lost", "time-travel @ K8S apply TerdutServer/status platform/terdut #1",
		},
		{
			"the campaign dropped what the operator logs, and with it why a policy stayed",
			"delete-server-children-team", "422 @ REST PUT /api/teams/{id}/escalation #1",
		},
	} {
		t.Run(c.scenario+" "+c.fault, func(t *testing.T) {
			all := Scenarios()
			i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == c.scenario })
			if i < 0 {
				t.Fatalf("there is no scenario %q any more", c.scenario)
			}
			faults := parse(t, c.fault)
			if v := inBubble(t, all[i], referenceOf(t, all[i]), faults); len(v.Wrong) > 0 || !v.Fired {
				t.Errorf("%s: %s", c.why, strings.Join(v.Wrong, "\n\t"))
			}
		})
	}
}
