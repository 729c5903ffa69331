package cel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// group holds what is tried for one rule of one kind.
type group struct {
	kind string
	// path is where the rule stands in the schema, as in node.path.
	path string
	// says is a part of the rule's message that no other rule at that place has.
	says string
	// pass must be accepted and fail refused with the rule's whole message.
	pass, fail []attempt
	// overlaps is true when what this rule refuses may break another one, too. Otherwise one mistake gives one line.
	overlaps bool
	// secrets are words in the refused values that no answer may repeat.
	secrets []string
}

// attempt is an object, or a change of one, that the API server is asked to accept.
type attempt struct {
	// given changes the kind's base before it is created.
	given []edit
	// then changes what was created, by an update; nil tries the creation itself.
	then []edit
	// status makes it an update of the status.
	status bool
}

func create(edits ...edit) attempt      { return attempt{given: edits} }
func update(edits ...edit) attempt      { return attempt{then: edits} }
func writeStatus(edits ...edit) attempt { return attempt{then: edits, status: true} }

// update makes the attempt an update of what create made.
func (a attempt) update(edits ...edit) attempt { a.then = edits; return a }

func (a attempt) text() string {
	switch {
	case a.then == nil:
		return textOf(a.given)
	case a.given == nil:
		return "update to " + textOf(a.then)
	}
	return fmt.Sprintf("%s, then update to %s", textOf(a.given), textOf(a.then))
}

// try makes the attempt's last request and returns its error; all requests before it must succeed.
func (a attempt) try(ctx context.Context, kind string) error {
	object := fresh(kind)
	apply(object, a.given)
	err := cluster.Create(ctx, object)
	if err == nil {
		DeferCleanup(func(ctx context.Context) { Expect(cluster.Delete(ctx, object)).To(Succeed()) })
	}
	if a.then == nil {
		return err
	}
	Expect(err).NotTo(HaveOccurred(), "what the update starts from")
	apply(object, a.then)
	changed := object.DeepCopy()
	if a.status {
		return cluster.Status().Update(ctx, changed)
	}
	return cluster.Update(ctx, changed)
}

var created atomic.Int64

// fresh is the base of the kind under a name of its own.
func fresh(kind string) *unstructured.Unstructured {
	object := base(kind)
	object.SetNamespace(namespace)
	object.SetName(fmt.Sprintf("case-%d", created.Add(1)))
	return object
}

// declare makes one spec of each attempt of the group.
func (g group) declare() {
	Context(fmt.Sprintf("%s %s: %s", g.kind, g.path, g.says), Label(caseLabel), func() {
		for _, a := range g.pass {
			It("accepts "+a.text(), func(ctx SpecContext) {
				Expect(a.try(ctx, g.kind)).To(Succeed())
			})
		}
		for _, a := range g.fail {
			It("refuses "+a.text(), func(ctx SpecContext) {
				err := a.try(ctx, g.kind)
				rule := g.rule()
				expectRefusal(err, rule.field, rule.message)
				if !g.overlaps {
					Expect(causesOf(err)).To(HaveLen(1), "one mistake gives one line: %v", err)
				}
				for _, secret := range g.secrets {
					Expect(err.Error()).NotTo(ContainSubstring(secret))
				}
			})
		}
	})
}

// rule is the one that the group is about.
func (g group) rule() celRule {
	rules := slices.DeleteFunc(slices.Clone(celRules()), func(r celRule) bool { return !g.covers(r) })
	Expect(rules).To(HaveLen(1), "rules of %s at %q that say %q", g.kind, g.path, g.says)
	return rules[0]
}

// expectRefusal wants err to be a refusal with that message at that path, and no rule to have failed to be evaluated.
func expectRefusal(err error, path, message string) {
	GinkgoHelper()
	Expect(apierrors.IsInvalid(err)).To(BeTrue(), "want a refusal that says %q, got: %v", message, err)
	Expect(err.Error()).NotTo(ContainSubstring("evaluation"), "a rule must refuse and not break")
	Expect(causesOf(err)).To(ContainElement(And(
		HaveField("Message", ContainSubstring(message)),
		HaveField("Field", WithTransform(anyIndex, Equal(path))),
	)), err.Error())
}

func causesOf(err error) []metav1.StatusCause {
	var status apierrors.APIStatus
	Expect(errors.As(err, &status)).To(BeTrue(), "%T", err)
	Expect(status.Status().Details).NotTo(BeNil())
	return status.Status().Details.Causes
}

// anyIndex turns the path of an error into a path of the schema.
func anyIndex(field string) string {
	if field == "<nil>" {
		return ""
	}
	var path strings.Builder
	inIndex := false
	for _, character := range field {
		if character == ']' {
			inIndex = false
		}
		if !inIndex {
			path.WriteRune(character)
		}
		if character == '[' {
			inIndex = true
		}
	}
	return path.String()
}

func (g group) covers(r celRule) bool {
	return r.kind == g.kind && r.path == g.path && strings.Contains(r.message, g.says)
}
