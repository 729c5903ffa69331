package team

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/attach"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// keeper gives each team a key of its own while the mode of its server is
// Scoped: a service account that reaches that team only, whose key stands in a
// Secret beside the TerdutTeam. The operator itself never uses that key.
//
// What crashes is made whole by looking again: the account bears the UID of the
// TerdutTeam in its name, and one whose key is not in the Secret is made anew.
type keeper struct {
	attach.Deps
	kind *kind
}

// maxKeySteps bounds a pass. The longest that makes sense takes half of it.
const maxKeySteps = 16

// Beside makes the key what the mode asks for, and says how it is.
func (k *keeper) Beside(ctx context.Context, at attach.Access, t *v1alpha1.TerdutTeam) ([]status.Part, error) {
	wanted := false
	switch modeOf(at.Server) {
	case "":
		return before(t), nil // it is not known yet what the server can
	case v1alpha1.CredentialsScoped:
		wanted = true
	}
	err := k.run(ctx, at, t, wanted)
	switch {
	case err == nil && !wanted:
		return nil, nil
	case err == nil:
		return []status.Part{status.True(v1alpha1.ConditionCredentialsReady, v1alpha1.ReasonKeyIssued,
			fmt.Sprintf("a key that reaches this team only is in Secret %q", v1alpha1.TeamCredentialsSecretName(t.Name)))}, nil
	case wanted && unavailable(err):
		return k.without(at, t, err)
	}
	ending, ended := outcome.As(err)
	if !ended {
		return before(t), err
	}
	ending = ending.On(v1alpha1.ConditionCredentialsReady)
	part := status.Of(ending)
	if ending.Status == metav1.ConditionUnknown {
		if parts := before(t); parts != nil {
			return parts, ending // what could not be seen says nothing about what was there
		}
		part.Aside = true
	}
	return []status.Part{part}, ending
}

// Leave takes the key away before the team goes; its Secret goes with the
// TerdutTeam. A list that does not show the account does not prove that it is
// gone. A server without service accounts has none of ours.
func (k *keeper) Leave(ctx context.Context, at attach.Access, t *v1alpha1.TerdutTeam) error {
	c := t.Status.Credentials
	if c == nil || c.Account != accountName(t) {
		return nil // none, or one that was copied from another TerdutTeam
	}
	id := c.AccountID
	found, err := at.API.FindServiceAccount(ctx, c.Account)
	switch {
	case unavailable(err):
		return nil
	case err != nil:
		return explain(err, "look for the service account of the team")
	case found != nil:
		id = found.ID
	}
	if id == 0 {
		return nil
	}
	err = at.API.DeleteServiceAccount(ctx, id)
	if errors.Is(err, terdutapi.ErrNotFound) || unavailable(err) {
		return nil
	}
	return explain(err, "delete the team's service account")
}

// without says that the server cannot hand out keys of teams. A team works
// without: it counts only where the server's owner has asked for it by name. A
// key that was handed out before is left as it is.
func (k *keeper) without(at attach.Access, t *v1alpha1.TerdutTeam, err error) ([]status.Part, error) {
	if c := t.Status.Credentials; c != nil && c.KeyID != 0 && meta.IsStatusConditionTrue(t.Status.Conditions, v1alpha1.ConditionCredentialsReady) {
		return before(t), nil
	}
	ending := outcome.Refused(v1alpha1.ConditionCredentialsReady, v1alpha1.ReasonScopedUnavailable,
		"TerdutServer %q cannot hand out keys that reach one team only: the server has no service accounts, or the operator's key may not make them. "+
			"Update terdut-server, or set spec.credentials.mode of the TerdutServer to OperatorOnly", at.Server.Name).Because(err)
	part := status.Of(ending)
	if asked := at.Server.Spec.Credentials; asked == nil || asked.Mode != v1alpha1.CredentialsScoped {
		part.Aside = true
		return []status.Part{part}, nil
	}
	return []status.Part{part}, ending
}

func unavailable(err error) bool {
	return errors.Is(err, terdutapi.ErrRouteMissing) || errors.Is(err, terdutapi.ErrForbidden)
}

// modeOf is what the namespaces of teams get; empty while that is not known.
func modeOf(server *v1alpha1.TerdutServer) v1alpha1.CredentialsMode {
	if server.Status.Credentials == nil {
		return ""
	}
	return server.Status.Credentials.Mode
}

// before is the condition as it was.
func before(t *v1alpha1.TerdutTeam) []status.Part {
	c := meta.FindStatusCondition(t.Status.Conditions, v1alpha1.ConditionCredentialsReady)
	if c == nil {
		return nil
	}
	return []status.Part{{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message, Aside: c.Status == metav1.ConditionUnknown}}
}

// accountName names the account of a team. It bears the UID: neither another
// cluster's account nor that of an earlier TerdutTeam is taken for it.
func accountName(t *v1alpha1.TerdutTeam) string {
	const stem, mark = 40, 8
	name, uid := t.Namespace+"."+t.Name, string(t.UID)
	return name[:min(stem, len(name))] + "-terdut-" + uid[:min(mark, len(uid))]
}

// run decides and acts until there is nothing left to do. A first look at the
// cache tells whether there is; whatever is done rests on live reads.
func (k *keeper) run(ctx context.Context, at attach.Access, t *v1alpha1.TerdutTeam, wanted bool) error {
	p := &keyPass{keeper: k, at: at, team: t, wanted: wanted, deleted: map[int64]bool{}}
	if err := p.look(ctx, p.cached); err != nil {
		return err
	}
	if decide(p.facts) == keyDone {
		return nil
	}
	if err := k.proveMode(ctx, at.Server); err != nil {
		return err
	}
	if err := k.proveThere(ctx, t); err != nil {
		return err
	}
	for range maxKeySteps {
		if err := p.look(ctx, p.live); err != nil {
			return err
		}
		next := decide(p.facts)
		if next == keyDone {
			return nil
		}
		if err := p.do(ctx, next); err != nil {
			return err
		}
	}
	return outcome.Unknown(v1alpha1.ConditionCredentialsReady, v1alpha1.ReasonUnexpectedAnswer,
		"the key of the team does not settle: the server shows something else than it was told")
}

// proveMode makes sure, before a key is made or taken away, that its server asks
// for that now: a cache that lags shows the mode of before.
func (k *keeper) proveMode(ctx context.Context, server *v1alpha1.TerdutServer) error {
	key, live := client.ObjectKeyFromObject(server), &v1alpha1.TerdutServer{}
	err := k.Live.Get(ctx, key, live)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read TerdutServer %s before the key of a team is made or taken away: %w", key, err)
	}
	if err != nil || live.UID != server.UID || modeOf(live) != modeOf(server) {
		return &apply.LookAgain{
			Key: apply.KeyOf(v1alpha1.SchemeGroupVersion.WithKind("TerdutServer"), server),
			Err: errors.New("its mode of credentials is another one than the cache shows"),
		}
	}
	return nil
}

// proveThere makes sure, before a key is made, that the team is not going: nobody
// would take the key away again.
func (k *keeper) proveThere(ctx context.Context, t *v1alpha1.TerdutTeam) error {
	key, live := client.ObjectKeyFromObject(t), &v1alpha1.TerdutTeam{}
	err := k.Live.Get(ctx, key, live)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read TerdutTeam %s before its key is made or taken away: %w", key, err)
	}
	if err != nil || live.UID != t.UID || live.DeletionTimestamp != nil {
		return &apply.LookAgain{
			Key: apply.KeyOf(v1alpha1.SchemeGroupVersion.WithKind("TerdutTeam"), t),
			Err: errors.New("it is being deleted, and the cache does not show that yet"),
		}
	}
	return nil
}

func explain(err error, doing string) error {
	return connect.Explain(err, v1alpha1.ConditionCredentialsReady, doing)
}
