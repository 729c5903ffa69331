package faults

import (
	"fmt"
	"strings"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// chains are a team and everything on it, in each mode of credentials.
func chains() []Scenario {
	none := installed(everything, "OperatorOnly")
	out := []Scenario{
		{Name: "chain-same-namespace", Before: none, Steps: []Step{apply(here)}},
		{Name: "chain-cross-namespace", Before: none, Steps: []Step{apply(there)}},
		{Name: "chain-scoped", Before: installed(everything, "Scoped"), Steps: []Step{apply(there)}},
		{Name: "chain-mirrored", Before: installed(everything, "Mirrored"), Steps: []Step{apply(there)}},
	}
	// The children do not look at the mode: a team is enough.
	for _, c := range []struct{ mode, namespace string }{
		{"Scoped", "platform"}, {"Mirrored", "platform"}, {"Auto", "platform"}, {"Auto", "payments"},
	} {
		out = append(out, Scenario{
			Name: "team-" + strings.ToLower(c.mode) + "-in-" + c.namespace, Before: installed(everything, c.mode),
			Steps: []Step{apply(fmt.Sprintf(justTeam, c.namespace))}, Ends: ready("TerdutTeam " + c.namespace + "/payments"),
		})
	}
	return append(out, Scenario{
		Name: "team-auto-today", Before: installed(today, "Auto"),
		Steps: []Step{apply(fmt.Sprintf(justTeam, "payments"))}, Ends: ready(theirTeam),
	})
}

// credentialModes are changes of the mode, there and back.
func credentialModes() []Scenario {
	with := func(mode string) []Step {
		return before(installed(everything, mode), apply(fmt.Sprintf(justTeam, "payments")))
	}
	to := func(mode string) Step { return spec(theServer, mode, "credentials", "mode") }
	own, copied := "Secret payments/payments-terdut-key", "Secret payments/terdut.platform-terdut-credentials"
	return []Scenario{
		{Name: "scoped-and-back", Before: with("OperatorOnly"), Steps: []Step{to("Scoped"), together(ready(theirTeam), to("OperatorOnly"))}, Ends: absent(own)},
		{Name: "mirrored-and-back", Before: with("OperatorOnly"), Steps: []Step{to("Mirrored"), together(ready(theirTeam), to("OperatorOnly"))}, Ends: absent(copied)},
		{Name: "scoped-to-mirrored", Before: with("Scoped"), Steps: []Step{to("Mirrored"), together(absent(own), to("Scoped"))}, Ends: absent(copied)},
		{Name: "mode-and-team-go", Before: with("Scoped"), Steps: []Step{together(to("Mirrored"), remove(theirTeam))}, Ends: absent(own, copied)},
		{Name: "mirror-name-taken", Before: installed(everything, "Mirrored"), Steps: []Step{
			together(apply(taken), apply(fmt.Sprintf(justTeam, "payments"))),
			together(says(theServer, "MirrorsIncomplete", "True "+v1alpha1.ReasonMirrorRefused), remove(copied)),
		}, Ends: says(theServer, "MirrorsIncomplete", "")},
	}
}

// onServerOf is a team of another name.
func onServerOf(namespace, displayName, name string) string {
	return fmt.Sprintf(`
apiVersion: terdut.ryuvia.com/v1alpha1
kind: TerdutTeam
metadata: {name: %[3]s, namespace: %[1]s}
spec:
  displayName: %[2]s
  serverRef: {name: terdut, namespace: platform}`, namespace, displayName, name)
}

// taken is a Secret of somebody else's that bears the name of a mirror.
const taken = `
apiVersion: v1
kind: Secret
metadata: {name: terdut.platform-terdut-credentials, namespace: payments}
data: {key: c29tZWJvZHktZWxzZS1jYW5hcnk=}`
