package faults

import (
	"fmt"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/inject"
)

// rotations are keys that are exchanged because somebody asks for it.
func rotations() []Scenario {
	none := installed(everything, "OperatorOnly")
	chain := before(none, apply(here))
	rotate := func(text, token string) Step { return annotate(text, v1alpha1.AnnotationRotate, token) }
	atOnce := merge(theServer, `{"spec":{"credentials":{"gracePeriod":"0s"}}}`)
	mirrored := before(installed(everything, "Mirrored"), apply(fmt.Sprintf(justTeam, "payments")))
	return []Scenario{
		{Name: "rotate-source", Before: chain, Steps: []Step{rotate(ourSource, "1")}},
		{Name: "rotate-source-twice", Before: chain, Steps: []Step{soon(rotate(ourSource, "1"), rotate(ourSource, "2"))}, Ends: ready(ourSource)},
		{Name: "rotate-source-leaked", Before: chain, Steps: []Step{
			together(merge(ourSource, `{"spec":{"rotationGrace":"0s"}}`), rotate(ourSource, "1")),
		}, Ends: ready(ourSource)},
		{Name: "rotate-server", Before: none, Steps: []Step{rotate(theServer, "1")}},
		{Name: "rotate-server-today", Before: installed(today, "OperatorOnly"), Steps: []Step{rotate(theServer, "1")}, Ends: ready(theServer)},
		{Name: "rotate-server-twice", Before: none, Steps: []Step{soon(rotate(theServer, "1"), rotate(theServer, "2"))}, Ends: ready(theServer)},
		{Name: "rotate-server-leaked", Before: mirrored, Steps: []Step{together(atOnce, rotate(theServer, "1"))}, Ends: ready(theServer, theirTeam)},
		{Name: "rotate-server-mirrored", Before: mirrored, Steps: []Step{rotate(theServer, "1")}, Ends: ready(theServer, theirTeam)},
		// The key is more than an hour old, and the next one is not before the end.
		{Name: "rotate-server-by-age", Before: before(none, together(), together(), together()), Steps: []Step{
			merge(theServer, `{"spec":{"credentials":{"rotateAfter":"1h","gracePeriod":"10m"}}}`),
			merge(theServer, `{"spec":{"credentials":{"rotateAfter":null}}}`),
		}},
	}
}

// losses are Secrets that somebody deletes, and keys that somebody revokes.
func losses() []Scenario {
	chain := before(installed(everything, "Scoped"), apply(here))
	team := before(installed(everything, "Scoped"), apply(fmt.Sprintf(justTeam, "payments")))
	mirrored := before(installed(everything, "Mirrored"), apply(fmt.Sprintf(justTeam, "payments")))
	own, webhook := "Secret payments/payments-terdut-key", "Secret platform/alerts-terdut-webhook"
	credentials := "Secret platform/terdut-operator-credentials"
	return []Scenario{
		{Name: "lost-on-server", Before: before(installed(everything, "OperatorOnly"), apply(here)), Steps: []Step{deleteTeams}},
		{Name: "webhook-secret-lost", Before: chain, Steps: []Step{remove(webhook)}, Ends: ready(ourSource)},
		{Name: "team-key-lost", Before: team, Steps: []Step{remove(own)}, Ends: ready(theirTeam)},
		{Name: "team-key-changed", Before: team, Steps: []Step{merge(own, `{"data":{"key":"`+dead+`"}}`)}, Ends: ready(theirTeam)},
		{Name: "mirror-lost", Before: mirrored, Steps: []Step{remove("Secret payments/terdut.platform-terdut-credentials")}, Ends: ready(theirTeam)},
		{Name: "operator-key-lost", Before: team, Steps: []Step{remove(credentials)}, Ends: ready(theServer, theirTeam)},
		{Name: "operator-key-stripped", Before: team, Steps: []Step{together(remove(credentials), strip(credentials))}, Ends: ready(theServer, theirTeam), Allowed: inMemory},
		{Name: "children-of-server-lost", Before: team, Steps: []Step{remove("Deployment platform/terdut", "Service platform/terdut")}, Ends: ready(theServer, theirTeam)},
	}
}

// inMemory is the loss that follows when people take the finalizer off the
// operator's key, and the process that has it in memory does not write it back.
// What that is called depends on whether the next one asked for a bootstrap and
// did not hear the answer.
var inMemory = []Allowance{strippedAs(v1alpha1.ReasonAlreadyBootstrapped), strippedAs(v1alpha1.ReasonBootstrapKeyLost)}

func strippedAs(reason string) Allowance {
	const write = "K8S apply Secret platform/terdut-operator-credentials #1"
	return Allowance{
		Reason: reason,
		Why:    "somebody has taken the finalizer off the Secret with the operator's key, so that the key was in the memory of one process only",
		At:     []inject.Fault{{Label: write, Mode: inject.CrashBefore}, {Label: write, Mode: inject.Overlap}}, BeforeCrash: unwritten(write),
	}
}

// dead is a key, in base64, that opens nothing.
const dead = "MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMA=="
