package cel_test

import (
	"fmt"
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// groups are the tables of all kinds.
func groups() []group {
	return slices.Concat(serverGroups(), podGroups(), databaseGroups(), dsnGroups(), remoteGroups(), durationGroups(), graceGroups(), externalGroups())
}

var _ = Describe("CEL rules", func() {
	for _, g := range groups() {
		g.declare()
	}

	It("have cases of both sorts, each of them", func() {
		for _, r := range celRules() {
			var passing, failing int
			for _, g := range groups() {
				if g.covers(r) {
					passing, failing = passing+len(g.pass), failing+len(g.fail)
				}
			}
			Expect(passing).NotTo(BeZero(), "no passing case of %s: add one to the tables of this package", r)
			Expect(failing).NotTo(BeZero(), "no failing case of %s: add one to the tables of this package", r)
		}
	})

	It("have a message each, and a path that the tables can name", func() {
		rules := celRules()
		Expect(rules).NotTo(BeEmpty())
		seen := map[celRule]bool{}
		for _, r := range rules {
			Expect(r.message).NotTo(BeEmpty(), "%s", r)
			Expect(seen).NotTo(HaveKey(r), "two rules at one place say the same")
			seen[r] = true
		}
	})
})

// celRule is one x-kubernetes-validations entry of the generated definitions.
type celRule struct {
	kind, path, message string
	// field is where the API server reports it: the path, or a field below it.
	field string
}

func (r celRule) String() string { return fmt.Sprintf("%s %s %q", r.kind, r.path, r.message) }

// celRules lists the rules of all kinds.
var celRules = sync.OnceValue(func() []celRule {
	var rules []celRule
	for _, n := range schemaNodes() {
		for _, validation := range n.schema.XValidations {
			rules = append(rules, celRule{
				kind: n.kind, path: n.path, message: validation.Message, field: n.path + validation.FieldPath,
			})
		}
	}
	return rules
})
