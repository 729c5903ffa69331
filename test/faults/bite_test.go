package faults

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/inject"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

// misdeeds are what no operator may do, done by the test to a run that went
// well, and the oracle that has to complain.
var misdeeds = []struct {
	name, oracle string
	do           Step
}{
	{"a label of a child is lost", "1 ", merge("Service platform/terdut", `{"metadata":{"labels":{"app.kubernetes.io/instance":null}}}`)},
	{"a Secret holds a key that opens nothing", "1 ", merge("Secret platform/alerts-terdut-webhook", `{"data":{"key":"`+dead+`"}}`)},
	{"a team is there that nobody recorded", "2 ", func(r *Run) error {
		_, err := r.peer("platform", "terdut").Model().CreateTeam("Payments-terdut-a0000009")
		return err
	}},
	{"a key is live that no Secret holds", "2 ", func(r *Run) error {
		_, _, err := r.peer("platform", "terdut").AddUser("left-behind", true)
		return err
	}},
	{"an object is deleted and made again", "3 ", together(
		apply(scrap), remove("Secret platform/scrap"), apply(scrap), remove("Secret platform/scrap"),
	)},
	{"a team is given another name and its own again", "3 ", func(r *Run) error {
		team := r.peer("platform", "terdut").Teams()[0]
		if err := r.rename(team.ID, "Somebody else's"); err != nil {
			return err
		}
		return r.rename(team.ID, team.Name)
	}},
	{"a Secret is half written", "4 ", merge("Secret platform/alerts-terdut-webhook", `{"data":{"url":null}}`)},
	{"a finalizer goes before its object", "4 ", merge("TerdutTeam platform/payments", `{"metadata":{"finalizers":null}}`)},
	{"a Ready is a lie", "4 ", together(
		deleteTeams,
		status("TerdutTeam platform/payments", `{"status":{"conditions":null}}`),
		status("TerdutTeam platform/payments", `{"status":{"conditions":[{"type":"Ready","status":"True","observedGeneration":1,
			"reason":"Ready","message":"all is well","lastTransitionTime":"2000-01-01T00:00:00Z"}]}}`),
	)},
	{"something is written at rest", "5 ", func(r *Run) error {
		s := r.peer("platform", "terdut")
		return s.RenameTeam(s.Teams()[0].ID, "Somebody else's")
	}},
	{"an Event shows a key", "6 ", func(r *Run) error {
		secret, err := r.find("Secret platform/alerts-terdut-webhook")
		if err == nil {
			r.events = append(r.events, "the key is "+secretData(secret)[v1alpha1.WebhookKeyKey])
		}
		return err
	}},
	{"the log shows a password", "6 ", func(r *Run) error {
		secret, err := r.find("Secret platform/db")
		if err == nil {
			r.log.WriteString("connect with " + secretData(secret)["password"])
		}
		return err
	}},
}

const (
	scrap = `
apiVersion: v1
kind: Secret
metadata: {name: scrap, namespace: platform}`
)

// rename is what the operator does to give a team a name.
func (r *Run) rename(team int64, name string) error {
	secret, err := r.find("Secret platform/terdut-operator-credentials")
	if err != nil {
		return err
	}
	api, err := terdutapi.New("http://terdut.platform.svc:8080", terdutapi.WithAPIKey(secretData(secret)[v1alpha1.CredentialsKey]),
		terdutapi.WithHTTPClient(&http.Client{Transport: r.Network()}))
	if err == nil {
		_, err = api.RenameTeam(context.Background(), team, name)
	}
	return err
}

// TestViewsMislead: each way in which what the operator sees can be wrong shows
// it something that is not the present, or the run with it proves nothing.
func TestViewsMislead(t *testing.T) {
	all := Scenarios()
	s := all[slices.IndexFunc(all, func(s Scenario) bool { return s.Name == "rotate-server" })]
	ref := referenceOf(t, s)
	views := families()[3]
	for _, mode := range slices.Concat(inject.Views(), []inject.Mode{inject.HiddenVersion, inject.Namesake}) {
		plans, _ := views.plans(ref, []inject.Mode{mode})
		misled := slices.ContainsFunc(plans, func(p plan) bool { return inBubble(t, s, ref, p).Misled })
		if !misled {
			t.Errorf("%s: in none of %d runs anything was shown that was not the present", mode, len(plans))
		}
	}
}

// TestEveryOracleBites: an oracle that never complains proves nothing.
func TestEveryOracleBites(t *testing.T) {
	all := Scenarios()
	s := all[slices.IndexFunc(all, func(s Scenario) bool { return s.Name == "chain-same-namespace" })]
	ref := referenceOf(t, s)
	caught := 0
	for _, m := range misdeeds {
		synctest.Test(t, func(t *testing.T) {
			r, err := s.play()
			if err == nil {
				err = m.do(r)
			}
			if err != nil {
				t.Fatalf("%s: %v", m.name, err)
			}
			v := r.oracles(ref, 0)
			if slices.ContainsFunc(v.Wrong, func(w string) bool { return strings.HasPrefix(w, m.oracle) }) {
				caught++
			} else {
				t.Errorf("%s: oracle %sdoes not complain, but: %v", m.name, m.oracle, v.Wrong)
			}
			if err := r.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
	publish(t, figures.Count("faults-oracles", "misdeeds-caught", caught, len(misdeeds)))
}
