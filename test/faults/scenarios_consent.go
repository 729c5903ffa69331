package faults

import (
	"fmt"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// consents are given, taken back and given again.
func consents() []Scenario {
	from := func(value string) Step {
		return merge(theServer, `{"spec":{"allowedTeams":{"namespaces":{"from":"`+value+`","selector":null}}}}`)
	}
	admit := func(namespaces string) Step {
		return apply(fmt.Sprintf(bare, ownDSN, "  allowedTeams: {namespaces: {"+namespaces+"}}"))
	}
	selector := `from: Selector, selector: {matchLabels: {terdut.ryuvia.com/allowed: "true"}}`
	mirror := "Secret payments/terdut.platform-terdut-credentials"
	refused := "False " + v1alpha1.ReasonRefNotPermitted
	begin := []Step{serve(everything), together(apply(namespaces), apply(database), admit("from: Same"))}
	unlabel := merge("Namespace payments", `{"metadata":{"labels":{"terdut.ryuvia.com/allowed":null}}}`)
	scoped := before(installed(everything, "Scoped"), apply(there))
	mirrored := before(installed(everything, "Mirrored"), apply(there))
	copied := before(installed(everything, "Mirrored"), apply(fmt.Sprintf(justTeam, "payments")))
	return []Scenario{
		{Name: "consent", Before: mirrored, Steps: []Step{from("None"), together(absent(mirror), from("All")), from("None")}, Ends: absent(mirror)},
		{Name: "consent-late", Before: begin, Steps: []Step{
			apply(fmt.Sprintf(justTeam, "payments") + "\n---\n" + fmt.Sprintf(justSource, "payments")),
			together(says(theirTeam, "ReferencesResolved", refused), admit("from: All")),
			together(ready(theirTeam, theirSource), admit(selector)),
			together(ready(theirTeam, theirSource), admit("from: None")),
		}, Ends: says(theirTeam, "ReferencesResolved", refused)},
		{Name: "consent-by-label", Before: copied, Steps: []Step{
			unlabel,
			together(says(theirTeam, "ReferencesResolved", refused), apply(namespaces)),
		}, Ends: ready(theirTeam)},
		{Name: "consent-revoked-edits", Before: scoped, Steps: []Step{
			unlabel,
			together(spec(theirTeam, "Payments EU", "displayName"), spec(theirSwitch, "30m", "timeout"), annotate(theirSource, v1alpha1.AnnotationRotate, "1")),
			together(says(theirTeam, "Ready", refused), apply(namespaces)),
		}, Ends: ready(theirChain...)},
		{Name: "consent-revoked-deletion", Before: before(scoped, unlabel), Steps: []Step{
			remove(theirChildren...), together(absent(theirChildren...), remove(theirTeam)),
		}, Ends: absent(theirTeam)},
	}
}
