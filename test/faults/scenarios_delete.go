package faults

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// deletions are the ends of everything, in each order and under bad omens.
func deletions() []Scenario {
	none := installed(everything, "OperatorOnly")
	across := before(none, apply(there))
	scoped := before(installed(everything, "Scoped"), apply(there))
	chain := before(none, apply(here))
	mirrored := before(installed(everything, "Mirrored"), apply(fmt.Sprintf(justTeam, "payments")))
	everythingThere := append([]string{theServer}, theirChain...)
	credentials := "Secret platform/terdut-operator-credentials"
	out := []Scenario{
		{Name: "delete-all-at-once", Before: across, Steps: []Step{remove(everythingThere...)}},
		{Name: "delete-all-scoped", Before: scoped, Steps: []Step{remove(everythingThere...)}, Ends: absent(everythingThere...)},
		{Name: "delete-all-mirrored", Before: mirrored, Steps: []Step{remove(theServer, theirTeam)}, Ends: absent(theServer, theirTeam)},
		{Name: "delete-tenant-namespace", Before: across, Steps: []Step{remove("Namespace payments")}},
		{Name: "delete-server-namespace", Before: across, Steps: []Step{remove("Namespace platform")}},
		{Name: "delete-both-namespaces", Before: scoped, Steps: []Step{remove("Namespace platform", "Namespace payments")}, Ends: absent("Namespace platform", "Namespace payments")},
		{Name: "delete-namespace-of-all", Before: chain, Steps: []Step{remove("Namespace platform")}, Ends: absent("Namespace platform")},
		{Name: "delete-server-in-foreground", Before: across, Steps: []Step{
			foreground(theServer), together(remove(theirChain...)),
		}, Ends: absent(everythingThere...)},
		{Name: "delete-team-in-foreground", Before: scoped, Steps: []Step{foreground(theirTeam), remove(theirChildren...)}, Ends: absent(theirChain...)},
		{Name: "delete-credentials-first", Before: across, Steps: []Step{
			together(remove(credentials), remove(everythingThere...)),
		}, Ends: absent(everythingThere...)},
		{Name: "delete-without-a-key", Before: before(across, revokeAll, together(remove(credentials), strip(credentials))), Steps: []Step{
			remove(theirChain...),
			together(says(theirSwitch, "Degraded", "True "+v1alpha1.ReasonWaitingForServer, "True "+v1alpha1.ReasonDeletionStuck), annotateForce(theirChain...)),
			remove(theServer),
		}, Ends: absent(everythingThere...), Orphans: true},
		{Name: "delete-invalid", Before: before(across, together(
			merge(theirRule, `{"spec":{"levels":[{"timeout":"5m","targets":[{"kind":"user","username":"nobody"}]}]}}`),
			spec(theirSwitch, "[not a matcher", "matcher"), spec(theirTeam, " ", "displayName"),
		)), Steps: []Step{remove(theirChain...)}, Ends: absent(theirChain...)},
		{Name: "delete-removed-on-server", Before: before(across, annotate(theirTeam, v1alpha1.AnnotationPaused, "true")), Steps: []Step{
			together(deleteTeams, remove(theirChain...)),
		}, Ends: absent(theirChain...)},
		{Name: "delete-before-the-server", Before: []Step{serve(everything), apply(namespaces)}, Steps: []Step{
			apply(there), together(remove(theirChain...)),
		}, Ends: absent(theirChain...)},
		{Name: "delete-before-the-database", Before: []Step{serve(everything), together(apply(namespaces), apply(fmt.Sprintf(server, "Scoped")), apply(there))}, Steps: []Step{
			remove(everythingThere...),
		}, Ends: absent(everythingThere...)},
		{Name: "finalizers-of-others", Before: none, Steps: []Step{
			together(apply(here), onEach(ourChain, hold("example.com/first"))),
			together(onEach(ourChain, isHeld("example.com/first")), onEach(ourChain, hold("example.com/second")), remove(ourChain...)),
			onEach(ourChain, func(text string) Step { return together(isHeld("example.com/second")(text), strip(text)) }),
		}, Ends: absent(ourChain...)},
		{Name: "finalizers-stripped", Before: chain, Steps: []Step{
			onEach(append([]string{theServer}, ourChain...), strip), remove(ourChain...),
		}, Ends: absent(ourChain...)},
	}
	return append(out, inEachOrder(across)...)
}

// hold puts a finalizer of somebody else's on an object.
func hold(finalizer string) func(text string) Step {
	return func(text string) Step {
		return edit(text, func(o *unstructured.Unstructured) error {
			o.SetFinalizers(append(o.GetFinalizers(), finalizer))
			return nil
		})
	}
}

// isHeld checks that it is still there.
func isHeld(finalizer string) func(text string) Step {
	return func(text string) Step {
		return func(r *Run) error {
			object, err := r.find(text)
			if err != nil {
				return err
			}
			if !slices.Contains(object.GetFinalizers(), finalizer) {
				return fmt.Errorf("%s has lost the finalizer %q of somebody else's", text, finalizer)
			}
			return nil
		}
	}
}

// inEachOrder deletes server, team and what is on it one after the other.
func inEachOrder(across []Step) []Scenario {
	layers := map[string]Step{"server": remove(theServer), "team": remove(theirTeam), "children": remove(theirChildren...)}
	var out []Scenario
	for _, names := range permutations("server", "team", "children") {
		s := Scenario{Name: "delete-" + strings.Join(names, "-"), Before: across}
		for _, name := range names {
			s.Steps = append(s.Steps, layers[name])
		}
		s.Steps = append(s.Steps, absent(append([]string{theServer}, theirChain...)...))
		out = append(out, s)
	}
	return out
}

// orphans are objects that stay on the server on purpose.
func orphans() []Scenario {
	chain := before(installed(everything, "OperatorOnly"), apply(here))
	scoped := before(installed(everything, "Scoped"), apply(there))
	policy := func(text string) Step { return spec(text, "Orphan", "deletionPolicy") }
	return []Scenario{
		{Name: "orphan", Before: chain, Steps: []Step{
			onEach(ourChain, policy),
			remove(ourSource, ourSwitch, ourRule, ourTeam),
		}, Orphans: true},
		{Name: "orphan-and-back", Before: before(scoped, onEach(theirChain, policy)), Steps: []Step{
			remove(theirChain...),
			together(apply(there), merge(theServer, `{"spec":{"allowedTeams":{"adopt":[{"namespace":"payments"}]}}}`)),
		}, Ends: ready(theirTeam, theirRule, theirSwitch), Orphans: true},
		{Name: "force-orphan", Before: scoped, Steps: []Step{
			together(annotateForce(theirChain...), remove(theirChain...)),
		}, Ends: absent(theirChain...), Orphans: true},
		{Name: "force-orphan-server", Before: scoped, Steps: []Step{
			together(annotateForce(theServer), remove(append([]string{theServer}, theirChildren...)...)),
			absent(append([]string{theServer}, theirChildren...)...),
			remove(theirTeam),
		}, Ends: absent(theirTeam), Orphans: true},
	}
}
