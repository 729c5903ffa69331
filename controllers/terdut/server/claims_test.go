package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/consent"
)

func platform(adopt ...v1alpha1.AdoptionLeave) *v1alpha1.TerdutServer {
	server := &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "terdut"}}
	server.Spec.AllowedTeams.Adopt = adopt
	return server
}

// asking is a team of a namespace that may take one over with leave.
func asking(namespace, name string) v1alpha1.TerdutTeam {
	t := v1alpha1.TerdutTeam{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "team"}}
	t.Spec.DisplayName = name
	t.Status.Adoptable = &v1alpha1.AdoptableTeam{ID: 7, Name: name}
	t.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReferencesResolved, Status: metav1.ConditionTrue}}
	return t
}

// TestRequests: what is printed is what gives leave, and nothing but that.
func TestRequests(t *testing.T) {
	teams := []v1alpha1.TerdutTeam{asking("b", "Two"), asking("a", `"One": [#`), asking("b", "Three"), asking("b", "Two")}
	for _, change := range []func(*v1alpha1.TerdutTeam){
		func(t *v1alpha1.TerdutTeam) { t.Status.Adoptable = nil },
		func(t *v1alpha1.TerdutTeam) { t.Spec.DisplayName = "Another by now" },
		func(t *v1alpha1.TerdutTeam) { t.Spec.AdoptionPolicy = v1alpha1.AdoptionNever },
		func(t *v1alpha1.TerdutTeam) { t.DeletionTimestamp = &noon },
		func(t *v1alpha1.TerdutTeam) { t.Status.Conditions[0].Status = metav1.ConditionFalse },
	} {
		team := asking("c", "Silent")
		change(&team)
		teams = append(teams, team)
	}
	want := []v1alpha1.AdoptionLeave{{Namespace: "a", Names: []string{`"One": [#`}}, {Namespace: "b", Names: []string{"Three", "Two"}}}
	server := platform()
	got := requests(server, teams)
	if !equality.Semantic.DeepEqual(got, want) {
		t.Fatalf("%+v", got)
	}

	parts := claimParts(server, &Claims{Requests: got})
	if len(parts) != 1 || !parts[0].Aside && parts[0].Status != metav1.ConditionTrue {
		t.Fatalf("%+v", parts)
	}
	server.Spec.AllowedTeams.Adopt = printed(t, parts[0].Message)
	for _, leave := range want {
		for _, name := range leave.Names {
			if !consent.MayAdopt(leave.Namespace, server, name) {
				t.Errorf("%s may not adopt %q with %s", leave.Namespace, name, parts[0].Message)
			}
		}
	}
	if rest := requests(server, teams); len(rest) != 0 {
		t.Errorf("still asked for: %+v", rest)
	}
}

// printed reads the entries out of a message, as somebody would who copies them.
func printed(t *testing.T, message string) []v1alpha1.AdoptionLeave {
	t.Helper()
	_, text, found := strings.Cut(message, ":\nadopt:\n")
	var entries []v1alpha1.AdoptionLeave
	if err := yaml.UnmarshalStrict([]byte(text), &entries); err != nil || !found {
		t.Fatalf("%v in %q", err, message)
	}
	return entries
}

// TestRequestsAreBounded: many requests make a message that fits and still holds
// whole entries, never one that gives leave for everything.
func TestRequestsAreBounded(t *testing.T) {
	for _, length := range []int{3, 60, 200} {
		var teams []v1alpha1.TerdutTeam
		for i := range 300 {
			teams = append(teams, asking(fmt.Sprintf("namespace-%d", i%40), strings.Repeat("<", length-3)+fmt.Sprintf("%03d", i)))
		}
		message := ask(requests(platform(), teams))
		if len(message) > 1000 || !strings.Contains(message, "more)") {
			t.Errorf("%d bytes: %s", len(message), message)
		}
		if length == 200 {
			continue // too long for any message
		}
		entries := printed(t, message)
		if len(entries) == 0 || slices.ContainsFunc(entries, func(l v1alpha1.AdoptionLeave) bool { return len(l.Names) == 0 }) {
			t.Errorf("%+v", entries)
		}
	}
}

// TestClaimsAreWrittenOnceAMinute: tenants cannot make the status of a server
// change as often as they like.
func TestClaimsAreWrittenOnceAMinute(t *testing.T) {
	now := noon.Time
	r := &Reconciler{Now: func() time.Time { return now }}
	server := platform()
	server.UID = "server"
	// fails is true for a write that meets a newer server, say.
	fails := false
	observe := func(teams int32, names ...string) time.Duration {
		claims := &Claims{}
		for _, name := range names {
			claims.Requests = append(claims.Requests, v1alpha1.AdoptionLeave{Namespace: "a", Names: []string{name}})
		}
		next := Observe(server, Seen{Teams: teams, Claims: claims}, nil, metav1.NewTime(now))
		news := newsOf(server.Status, next)
		wait := r.untilWritten(server, news)
		if wait == 0 && !fails {
			r.told(server, news)
			server.Status = next
		}
		return wait
	}
	for _, c := range []struct {
		after time.Duration
		teams int32
		names []string
		fails bool
		want  time.Duration
	}{
		{0, 0, nil, false, 0},
		{0, 1, nil, false, 0},
		{10 * time.Second, 1, []string{"A"}, true, 0},
		{0, 1, []string{"A"}, false, 0}, // what was not written counts as told to nobody
		{10 * time.Second, 1, []string{"B"}, false, 50 * time.Second},
		{10 * time.Second, 2, []string{"B"}, false, 30 * time.Second},
		{30 * time.Second, 2, []string{"B"}, false, 0},
		{time.Second, 2, []string{"B"}, false, 0},
	} {
		now, fails = now.Add(c.after), c.fails
		if got := observe(c.teams, c.names...); got != c.want {
			t.Errorf("%d teams, %v: wait %s, want %s", c.teams, c.names, got, c.want)
		}
	}
}
