package faults

import (
	"slices"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/inject"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

// Scenarios are all scenarios of the campaign.
func Scenarios() []Scenario {
	return slices.Concat(
		installs(), bootstraps(), databases(), edits(), chains(), credentialModes(), consents(), names(), adoptions(),
		rotations(), losses(), restores(), takeovers(), deletions(), orphans(),
	)
}

// everything is all that modern servers offer; today is what they offer today:
// no service accounts and no keys of the caller's choice.
var (
	everything = refserver.Options{}
	// scopedToday has service accounts already, and chooses their keys itself.
	scopedToday = refserver.Options{Capabilities: &refserver.Capabilities{ServiceAccounts: true, Me: true, ListKeys: true, CreatedAt: true}}
	today       = refserver.Options{Capabilities: &refserver.Capabilities{Me: true, ListKeys: true, CreatedAt: true}}
)

// lost is the loss that no operator can prevent today: the answer to a
// bootstrap exists once. It must arrive, and be written.
var lost = []Allowance{{Reason: v1alpha1.ReasonBootstrapKeyLost, Why: keyOnce, At: []inject.Fault{
	{Label: "REST POST /api/bootstrap #1", Mode: inject.CrashAfter},
	{Label: "REST POST /api/bootstrap #1", Mode: inject.OldCache},
	{Label: "REST POST /api/bootstrap #1", Mode: inject.LostResponse},
	{Label: "REST POST /api/bootstrap #1", Mode: inject.Late},
	{Label: keyWritten, Mode: inject.CrashBefore},
}, BeforeCrash: unwritten(keyWritten)}}

// keyWritten is the write that brings the key of a bootstrap into its Secret.
const keyWritten = "K8S apply Secret platform/terdut-operator-credentials #2"

// unwritten are the faults that leave a write undone, in a process that goes on.
func unwritten(label string) (out []inject.Fault) {
	for _, mode := range []inject.Mode{inject.Refused, inject.Conflict, inject.Invalid, inject.TooMany, inject.Late} {
		out = append(out, inject.Fault{Label: label, Mode: mode})
	}
	return out
}

// keyOnce is why a bootstrap is not always survived.
const keyOnce = "the key of a server that takes no key which the caller chooses is in one answer, and that has not come to a Secret"

// The objects of the manifests.
const (
	theServer = "TerdutServer platform/terdut"
	ourTeam   = "TerdutTeam platform/payments"
	ourRule   = "TerdutEscalationRule platform/policy"
	ourSwitch = "TerdutDeadmanSwitch platform/watchdog"
	ourSource = "TerdutAlertSource platform/alerts"

	theirTeam   = "TerdutTeam payments/payments"
	theirRule   = "TerdutEscalationRule payments/policy"
	theirSwitch = "TerdutDeadmanSwitch payments/watchdog"
	theirSource = "TerdutAlertSource payments/alerts"
)

var (
	ourChildren   = []string{ourSource, ourSwitch, ourRule}
	theirChildren = []string{theirSource, theirSwitch, theirRule}
	ourChain      = append([]string{ourTeam}, ourChildren...)
	theirChain    = append([]string{theirTeam}, theirChildren...)
)
