// Package team makes a TerdutTeam a team on its server.
package team

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	ac "git.ryuvia.com/niklas/terdut-operator/applyconfig/terdut/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/attach"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// body is a team without its name: the groups of the identity provider.
type body struct {
	memberGroup, ownerGroup string
}

type kind struct {
	resolver *attach.Resolver
}

func (k *kind) Resolve(ctx context.Context, t *v1alpha1.TerdutTeam) (remote.Place, attach.Access, error) {
	return k.resolver.Team(ctx, t)
}

func (k *kind) Recorded(ctx context.Context, t *v1alpha1.TerdutTeam) (remote.Place, attach.Access, error) {
	if t.Status.Remote != nil {
		return k.resolver.Recorded(ctx, t.Namespace, t.Status.Remote, 0)
	}
	return k.resolver.Begun(ctx, t, 0)
}

func (k *kind) Desired(_ context.Context, _ attach.Access, t *v1alpha1.TerdutTeam, _ remote.Freshness) (remote.Want[body], error) {
	want := remote.Want[body]{Name: t.Spec.DisplayName}
	if groups := t.Spec.OIDC; groups != nil {
		want.Body = body{memberGroup: groups.MemberGroup, ownerGroup: groups.OwnerGroup}
	}
	return want, nil
}

func (k *kind) List(
	ctx context.Context, at attach.Access, t *v1alpha1.TerdutTeam, as remote.Freshness,
) ([]remote.Thing[body], error) {
	teams, err := at.API.Teams(ctx, as)
	if err != nil {
		return nil, connect.Explain(err, v1alpha1.ConditionSynced, "list teams")
	}
	out := make([]remote.Thing[body], 0, len(teams))
	for i := range teams {
		out = append(out, thing(&teams[i]))
	}
	return out, at.ProveGone(ctx, t.Status.Remote, remote.IDs(out), as, nil)
}

func (k *kind) Compare(want, got body) remote.Difference {
	var d remote.Difference
	if want.memberGroup != got.memberGroup {
		d.Fields = append(d.Fields, "oidc.memberGroup")
	}
	if want.ownerGroup != got.ownerGroup {
		d.Fields = append(d.Fields, "oidc.ownerGroup")
	}
	return d
}

func (k *kind) Create(ctx context.Context, at attach.Access, _ *v1alpha1.TerdutTeam, want remote.Want[body]) (remote.Thing[body], error) {
	made, err := at.API.CreateTeam(ctx, want.Name)
	if err != nil {
		return remote.Thing[body]{}, connect.Explain(err, v1alpha1.ConditionSynced, fmt.Sprintf("create team %q", want.Name))
	}
	return thing(made), nil
}

// Publish has nothing to do: the answer to a create call holds no secret.
func (k *kind) Publish(context.Context, attach.Access, *v1alpha1.TerdutTeam, remote.Thing[body]) error {
	return nil
}

func (k *kind) Update(
	ctx context.Context, at attach.Access, _ *v1alpha1.TerdutTeam, want remote.Want[body], got remote.Thing[body],
) (remote.Thing[body], error) {
	now := got
	if want.Body != got.Body {
		groups := terdutapi.OIDCGroups{MemberGroup: want.Body.memberGroup, OwnerGroup: want.Body.ownerGroup}
		team, err := at.API.SetTeamOIDCGroups(ctx, got.ID, groups)
		if err != nil {
			return got, connect.Explain(err, v1alpha1.ConditionSynced, fmt.Sprintf("set OIDC groups of team %q", got.Name))
		}
		now = thing(team)
	}
	if want.Name != got.Name {
		team, err := at.API.RenameTeam(ctx, got.ID, want.Name)
		if err != nil {
			return got, connect.Explain(err, v1alpha1.ConditionSynced, fmt.Sprintf("rename team %q to %q", got.Name, want.Name))
		}
		now = thing(team)
	}
	return now, nil
}

func (k *kind) Delete(ctx context.Context, at attach.Access, _ *v1alpha1.TerdutTeam, id int64) error {
	return connect.Explain(at.API.DeleteTeam(ctx, id), v1alpha1.ConditionSynced, fmt.Sprintf("delete team %d", id))
}

// Load reads the state. A team has no parent on the server: what its record
// calls the team is itself.
func (k *kind) Load(t *v1alpha1.TerdutTeam) remote.State[body] {
	s := attach.Load[body](&t.Status.RemoteStatus)
	if s.Record != nil {
		s.Record.TeamID = 0
	}
	if a := t.Status.Adoptable; a != nil {
		s.Candidate = &remote.Candidate{ID: a.ID, Name: a.Name}
	}
	return s
}

func (k *kind) Store(t *v1alpha1.TerdutTeam, s remote.State[body]) {
	attach.Store(&t.Status.RemoteStatus, s)
	t.Status.TeamID, t.Status.Adoptable = 0, nil
	if c := s.Candidate; c != nil {
		t.Status.Adoptable = &v1alpha1.AdoptableTeam{ID: c.ID, Name: c.Name}
	}
	if r := t.Status.Remote; r != nil {
		r.TeamID = r.ID
		t.Status.TeamID = r.ID
	}
}

func (k *kind) Status(t *v1alpha1.TerdutTeam) (runtime.ApplyConfiguration, error) {
	s, err := status.Into[ac.TerdutTeamStatusApplyConfiguration](t.Status)
	if err != nil {
		return nil, err
	}
	return ac.TerdutTeam(t.Name, t.Namespace).WithUID(t.UID).WithResourceVersion(t.ResourceVersion).WithStatus(s), nil
}

func thing(t *terdutapi.Team) remote.Thing[body] {
	return remote.Thing[body]{
		ID: t.ID, Name: t.Name, CreatedAt: attach.Time(t.CreatedAt),
		Body: body{memberGroup: t.MemberGroup, ownerGroup: t.OwnerGroup},
	}
}
