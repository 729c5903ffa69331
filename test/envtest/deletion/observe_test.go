package deletion_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

// deletesOf are the calls that delete what a kind stands for. A policy is
// always there: it is emptied.
var deletesOf = map[string]string{
	"TerdutTeam":           "DELETE /api/teams/{teamID}",
	"TerdutEscalationRule": "PUT /api/teams/{teamID}/escalation",
	"TerdutDeadmanSwitch":  "DELETE /api/teams/{teamID}/deadman-switches/{switchID}",
	"TerdutAlertSource":    "DELETE /api/teams/{teamID}/integrations/{integrationID}",
}

// observe sees everything that an expectation speaks of.
func (w *world) observe(ctx context.Context) (observation, error) {
	o := observation{}
	for i, object := range w.objects() {
		reason, err := w.stays(ctx, object)
		if err != nil {
			return nil, err
		}
		o[aspect(kinds[i])] = reason
		if o[of("notice about", kinds[i])], err = w.notice(ctx, object, reason); err != nil {
			return nil, err
		}
	}
	w.observeServer(o)
	for name, object := range map[aspect]client.Object{
		"TerdutServer":                   w.server,
		"namespace of the tenant":        &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.tenant}},
		"namespace of the server":        &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.platform}},
		"Secret with the webhook":        w.secret(w.tenant, v1alpha1.WebhookSecretName("payments")),
		"Secret with the team's key":     w.secret(w.tenant, v1alpha1.TeamCredentialsSecretName("payments")),
		"Secret with the operator's key": w.secret(w.platform, v1alpha1.CredentialsSecretName(serverName)),
	} {
		var err error
		if o[name], err = presence(ctx, object); err != nil {
			return nil, err
		}
	}
	o["released, by the log"] = strconv.Itoa(said.releases(w.tenant))
	return o, nil
}

// readsOfSecrets counts those that the operator has read in the tenant's
// namespace.
func (w *world) readsOfSecrets() int {
	reads := 0
	for _, r := range env.Requests.SecretReads() {
		if strings.HasPrefix(r, w.tenant+"/") {
			reads++
		}
	}
	return reads
}

func (w *world) secret(namespace, name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// presence tells whether an object is there, going, or gone. A Secret without a
// key is none.
func presence(ctx context.Context, o client.Object) (string, error) {
	switch err := read(ctx, o); {
	case apierrors.IsNotFound(err):
		return absent, nil
	case err != nil:
		return "", err
	}
	if secret, ok := o.(*corev1.Secret); ok && len(secret.Data) == 0 {
		return absent, nil
	}
	if o.GetDeletionTimestamp() != nil {
		return going, nil
	}
	return there, nil
}

// stays is why an object is still there, or that it is gone.
func (w *world) stays(ctx context.Context, o client.Object) (string, error) {
	state, err := presence(ctx, o)
	if err != nil || state != going {
		return state, err
	}
	c := meta.FindStatusCondition(steps.Conditions(o), v1alpha1.ConditionDegraded)
	if c == nil || c.Status != metav1.ConditionTrue || c.Message == "" {
		return undecided, nil
	}
	return degraded + c.Reason, nil
}

// notice finds where it is told that an object stays, or was let go without
// being cleaned up. state is that of the object.
func (w *world) notice(ctx context.Context, o client.Object, state string) (string, error) {
	reason := v1alpha1.EventReleased
	if stays, ok := strings.CutPrefix(state, degraded); ok {
		reason = stays
	}
	name := fmt.Sprintf("%s/%s", o.GetNamespace(), o.GetName())
	for _, at := range []struct {
		object client.Object
		place  string
	}{{o, onObject}, {w.server, onServer}} {
		list := &eventsv1.EventList{}
		if err := seen.List(ctx, list, client.InNamespace(at.object.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
			return "", err
		}
		for i := range list.Items {
			e := &list.Items[i]
			if e.Regarding.UID == at.object.GetUID() && e.Reason == reason &&
				(at.place == onObject || strings.Contains(e.Note, name) && strings.Contains(e.Note, kindOf(o))) {
				return at.place, nil
			}
		}
	}
	return notTold, nil
}

func kindOf(o client.Object) string {
	_, kind, _ := strings.Cut(fmt.Sprintf("%T", o), ".")
	return kind
}

// observeServer looks at what is on the server, past its wire.
func (w *world) observeServer(o observation) {
	team := w.team.Status.TeamID
	name := func(found bool) string {
		if found {
			return there
		}
		return absent
	}
	o["on the server: TerdutTeam"] = name(w.holdsTeam())
	o["on the server: TerdutEscalationRule"] = name(len(w.peer.Escalation(team).Levels) > 0)
	o["on the server: TerdutDeadmanSwitch"] = name(len(w.peer.Switches(team)) > 0)
	o["on the server: TerdutAlertSource"] = name(len(w.peer.Integrations(team)) > 0)
	o["on the server: the team's key"] = name(slices.ContainsFunc(w.peer.Accounts(), func(a model.Account) bool { return a.TeamID != 0 }))
	o["unfinished objects on the server"] = strconv.Itoa(w.unfinished())
	calls := w.peer.Requests()
	for _, kind := range kinds {
		tries, done := deletionsIn(calls, kind)
		o[of("tries to delete", kind)], o[of("deletions of", kind)] = strconv.Itoa(tries), strconv.Itoa(done)
	}
}

// deletionsIn counts the calls that would delete, and those that did.
func deletionsIn(calls []refserver.Request, kind string) (tries, done int) {
	for _, r := range calls {
		if r.Method+" "+r.Path != deletesOf[kind] {
			continue
		}
		tries++
		if r.Handled >= http.StatusOK && r.Handled < http.StatusMultipleChoices {
			done++
		}
	}
	return tries, done
}

func (w *world) holdsTeam() bool {
	return slices.ContainsFunc(w.peer.Teams(), func(t model.Team) bool { return t.Name == w.team.Spec.DisplayName })
}

// unfinished counts the objects whose name bears a mark of the operator.
func (w *world) unfinished() int {
	names := []string{}
	for _, t := range w.peer.Teams() {
		names = append(names, t.Name)
		for _, i := range w.peer.Integrations(t.ID) {
			names = append(names, i.Name)
		}
	}
	return len(slices.DeleteFunc(names, func(name string) bool {
		return !strings.Contains(name, "-terdut-") && !strings.Contains(name, "-retired-")
	}))
}

// differences says, aspect by aspect, what was expected and what was seen.
func differences(want expectation, got observation) []string {
	var out []string
	for a, allowed := range want {
		if !slices.Contains(allowed, got[a]) {
			out = append(out, fmt.Sprintf("%s: expected %s, seen %s", a, strings.Join(allowed, " or "), got[a]))
		}
	}
	slices.Sort(out)
	return out
}
