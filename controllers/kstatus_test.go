package controllers_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

var update = flag.Bool("update", false, "write the table of docs/status.md anew")

const (
	statusPage = "../docs/status.md"
	tableBegin = "<!-- table: go test ./controllers -run KStatus -update -->\n"
	tableEnd   = "<!-- end of table -->\n"
)

// reading is a state of the world and what kstatus makes of it.
type reading struct {
	on, condition, reason string
	status                metav1.ConditionStatus
	stalled               bool
}

// parts of a kind, in the order in which they count for Ready.
var partsOf = map[string][]string{
	"TerdutServer": {
		v1alpha1.ConditionDatabaseReady, v1alpha1.ConditionAvailable, v1alpha1.ConditionBootstrapped, v1alpha1.ConditionRouteReady,
	},
	"what lives on it": {v1alpha1.ConditionReferencesResolved, v1alpha1.ConditionSynced},
	"TerdutTeam":       {v1alpha1.ConditionReferencesResolved, v1alpha1.ConditionSynced, v1alpha1.ConditionCredentialsReady},
}

// conditions are what package status makes of the state, on an object whose
// generation was applied before, or not.
func (r reading) conditions(applied bool) []metav1.Condition {
	early, late := metav1.NewTime(time.Unix(1000, 0)), metav1.NewTime(time.Unix(2000, 0))
	var parts, good []status.Part
	known := false
	for _, t := range partsOf[r.on] {
		good = append(good, status.True(t, "Good", "as it should be"))
		part := good[len(good)-1]
		if t == r.condition {
			part, known = status.Part{Type: t, Status: r.status, Reason: r.reason, Message: "told"}, true
		}
		if r.reason == v1alpha1.ReasonBlocked && t == v1alpha1.ConditionReferencesResolved {
			part = status.Part{Type: t, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonWaitingForTeam, Message: "told"}
		}
		parts = append(parts, part)
	}
	if !known { // present only while it is True
		parts = append(parts, status.Part{Type: r.condition, Status: r.status, Reason: r.reason, Message: "told", Aside: true})
	}
	f := status.Finding{Generation: 2, Parts: parts}
	if r.stalled {
		f.Stalled = outcome.Refused(r.condition, r.reason, "told")
	}
	// A server that does not answer says nothing about what lives on it.
	f.KeepReady = applied && r.on != "TerdutServer" && r.status == metav1.ConditionUnknown && r.reason != v1alpha1.ReasonBlocked
	var before []metav1.Condition
	if applied {
		before = status.Conditions(nil, status.Finding{Generation: 2, Parts: good}, early)
	}
	return status.Conditions(before, f, late)
}

// read asks kstatus about an object of generation 2.
func read(t *testing.T, observed int64, conditions []metav1.Condition) string {
	t.Helper()
	object := &v1alpha1.TerdutTeam{}
	object.Status.ObservedGeneration, object.Status.Conditions = observed, conditions
	object.Name, object.Generation = "it", 2
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetAPIVersion(v1alpha1.SchemeGroupVersion.String())
	u.SetKind("TerdutTeam")
	result, err := kstatus.Compute(u)
	if err != nil {
		t.Fatal(err)
	}
	return string(result.Status)
}

// TestKStatus asks kstatus about every condition with every reason that it may
// have, before the first generation was applied, before the present one was, and
// after.
func TestKStatus(t *testing.T) {
	readings := declared(t)
	var rows []string
	told, passed := map[string]bool{}, 0
	for _, r := range readings {
		told[r.reason] = true
		never, newer := read(t, -1, r.conditions(false)), read(t, 1, r.conditions(false))
		applied := read(t, 2, r.conditions(true))
		for got, want := range map[string]string{"never applied " + never: "InProgress", "newer " + newer: "InProgress", "applied " + applied: r.want()} {
			if !strings.HasSuffix(got, " "+want) {
				t.Errorf("%+v: reads %s, want %s", r, got, want)
				continue
			}
			passed++
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |\n", r.on, r.condition, r.status, r.reason, never, newer, applied))
	}
	for name, reason := range reasonConstants(t) {
		if !told[reason] && reason != v1alpha1.ReasonReady && !ofDeletion[reason] {
			t.Errorf("%s: the comments of conditions.go name no condition with the reason %q", name, reason)
		}
	}
	table := "| on | condition | status | reason | never applied | new generation | applied |\n|---|---|---|---|---|---|---|\n" + strings.Join(rows, "")
	compareTable(t, table)
	if err := figures.Start("kstatus"); err != nil {
		t.Fatal(err)
	}
	if err := figures.Count("kstatus", "kstatus-states", passed, 3*len(readings)); err != nil {
		t.Fatal(err)
	}
}

// ofDeletion are reasons that only an object that is being deleted has, and why
// it was let go: kstatus calls that Terminating, whatever its conditions say.
var ofDeletion = map[string]bool{
	v1alpha1.ReasonTeamsAttached: true, v1alpha1.ReasonDeletionBlocked: true, v1alpha1.ReasonDeletionStuck: true,
	v1alpha1.ReasonForceOrphan: true, v1alpha1.ReasonPolicyLeft: true, v1alpha1.ReasonServerGone: true,
	v1alpha1.ReasonServerTerminating: true, v1alpha1.ReasonTeamGone: true,
}

// want is the rule that the table follows, for an object whose generation was
// applied.
func (r reading) want() string {
	switch {
	case r.stalled:
		return "Failed"
	case r.status == metav1.ConditionTrue:
		return "Current"
	case r.status == metav1.ConditionUnknown && r.on != "TerdutServer" && r.reason != v1alpha1.ReasonBlocked:
		return "Current"
	default:
		return "InProgress"
	}
}

// An object that nobody has looked at has the status that the schema gives it.
func TestKStatusNeverSeen(t *testing.T) {
	if got := read(t, -1, nil); got != "InProgress" {
		t.Errorf("reads as %s", got)
	}
}

func compareTable(t *testing.T, table string) {
	t.Helper()
	page, err := os.ReadFile(statusPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), tableBegin)
	old, after, ended := strings.Cut(rest, tableEnd)
	switch {
	case !found || !ended:
		t.Fatalf("%s has no place for the table", statusPage)
	case *update:
		err = os.WriteFile(statusPage, []byte(before+tableBegin+table+tableEnd+after), 0o644)
		if err != nil {
			t.Fatal(err)
		}
	case old != table:
		t.Errorf("the table of %s is not what kstatus says: go test ./controllers -run KStatus -update, and read the difference", statusPage)
	}
}

const conditionsFile = "../api/terdut/v1alpha1/conditions.go"

func reasonConstants(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	each(t, func(name, value, _ string) {
		if strings.HasPrefix(name, "Reason") {
			out[name] = value
		}
	})
	return out
}

// each calls f with every constant of conditions.go that is a string.
func each(t *testing.T, f func(name, value, comment string)) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), conditionsFile, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		f("", "", group.Doc.Text())
		for _, s := range group.Specs {
			if v, isValue := s.(*ast.ValueSpec); isValue && len(v.Values) == 1 {
				if literal, isLiteral := v.Values[0].(*ast.BasicLit); isLiteral {
					value, _ := strconv.Unquote(literal.Value)
					f(v.Names[0].Name, value, v.Doc.Text())
				}
			}
		}
	}
}

var (
	section = regexp.MustCompile(`(?m)^\s*(True|False|Unknown):`)
	word    = regexp.MustCompile(`\b[A-Z]\w+\b`)
	aside   = regexp.MustCompile(`\([^()]*\)`)
)

// declared are the states that the comments of conditions.go declare.
func declared(t *testing.T) []reading {
	t.Helper()
	known := map[string]bool{}
	for _, reason := range reasonConstants(t) {
		known[reason] = true
	}
	var ofCall map[string][]string
	var stalled []string
	type declaration struct{ condition, comment string }
	var all []declaration
	each(t, func(name, value, comment string) {
		switch {
		case name == "" && ofCall == nil:
			ofCall = sections(comment, known, nil)
		case name == "ConditionStalled":
			stalled = sections(comment, known, nil)["True"]
		case strings.HasPrefix(name, "Condition") && !computed[name]:
			all = append(all, declaration{value, comment})
		}
	})
	var out []reading
	for _, d := range all {
		by := sections(d.comment, known, ofCall)
		for _, s := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown} {
			for _, reason := range by[string(s)] {
				waits := s == metav1.ConditionFalse && slices.Contains(stalled, reason)
				out = append(out, reading{declaredOn(d.comment), d.condition, reason, s, waits})
			}
		}
	}
	if len(out) < 60 {
		t.Fatalf("only %d states are declared: did the form of the comments change?", len(out))
	}
	return out
}

// computed are conditions that follow from others, or from a deletion.
var computed = map[string]bool{"ConditionReady": true, "ConditionReconciling": true, "ConditionDegraded": true}

// declaredOn is the kind that a comment names.
func declaredOn(comment string) string {
	switch {
	case strings.Contains(comment, "(what lives on a server)"):
		return "what lives on it"
	case strings.Contains(comment, "(TerdutTeam,"):
		return "TerdutTeam"
	default:
		return "TerdutServer"
	}
}

// sections are the reasons of a comment, by status.
func sections(comment string, known map[string]bool, ofCall map[string][]string) map[string][]string {
	out := map[string][]string{}
	at := section.FindAllStringSubmatchIndex(comment, -1)
	for i, m := range at {
		end := len(comment)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		s, text := comment[m[2]:m[3]], aside.ReplaceAllString(comment[m[1]:end], "")
		for _, w := range word.FindAllString(text, -1) {
			if known[w] && !slices.Contains(out[s], w) {
				out[s] = append(out[s], w)
			}
		}
		if strings.Contains(strings.Join(strings.Fields(text), " "), "those of a call") {
			for _, w := range ofCall[s] {
				if !slices.Contains(out[s], w) {
					out[s] = append(out[s], w)
				}
			}
		}
	}
	return out
}
