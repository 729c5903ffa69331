package connect

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// session is the access to one server. The key is read anew for each request.
type session struct {
	base string
	ca   v1alpha1.SecretKeyRef
	http *http.Client
	key  atomic.Pointer[string]
	api  *terdutapi.Client

	limits Limits
	gate   *gate
	tokens *tokens
	teams  shared[terdutapi.Team]
	users  shared[terdutapi.User]
	// life ends with the session.
	life context.Context
	end  context.CancelFunc

	mu     sync.Mutex
	byTeam map[int64]*lists
}

// equip gives a session what keeps its load in bounds.
func (s *Sessions) equip(one *session, server *v1alpha1.TerdutServer) {
	about := &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: server.Namespace, Name: server.Name, UID: server.UID}}
	one.limits, one.byTeam = s.options.Limits, map[int64]*lists{}
	one.tokens = newTokens(one.limits.QPS, one.limits.Burst, s.options.Clock)
	one.gate = &gate{limits: one.limits, now: s.options.Clock, shut: func() { go s.probe(one, about) }}
	serve(one, &one.teams, true, func(ctx context.Context) ([]terdutapi.Team, error) {
		teams, err := one.api.ListTeams(ctx)
		if err == nil {
			one.forgetOthers(teams)
		}
		return teams, err
	})
	serve(one, &one.users, true, func(ctx context.Context) ([]terdutapi.User, error) { return one.api.ListUsers(ctx) })
}

// close ends what a session does by itself.
func (one *session) close() {
	one.end()
	one.http.CloseIdleConnections()
}
