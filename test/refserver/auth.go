package refserver

import (
	"net/http"
	"strconv"
	"strings"

	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
)

// fresh brings the state up to date before a request is looked at; without that there is no answer. /healthz looks for
// itself.
func (s *Server) fresh(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if callOf(r.Context()).route != "GET /healthz" {
			if err := s.model.Refresh(r.Context()); err != nil {
				failed(w, r, err)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// authenticated lets a request pass when its key is good and may do this.
func (s *Server) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := callOf(r.Context())
		if public(c.route) {
			next.ServeHTTP(w, r)
			return
		}
		key, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		actor, good := s.model.Authenticate(key)
		if !found || !good {
			writeError(w, http.StatusUnauthorized, "invalid API key")
			return
		}
		c.actor = actor
		s.note(func() { c.entry.Actor = actor.Name })
		if reason := forbidden(actor, c.route, r.URL.Path); reason != "" {
			writeError(w, http.StatusForbidden, reason)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func public(route string) bool {
	switch route {
	case "GET /healthz", "POST /api/bootstrap", "POST /api/webhooks/alertmanager/{integrationKey}":
		return true
	}
	return false
}

// forbidden says why an actor may not use a route; empty when it may.
func forbidden(actor model.Actor, route, path string) string {
	method, template, _ := strings.Cut(route, " ")
	switch {
	case actor.TeamID != 0:
		return beyondTeam(actor, method, template, path)
	case actor.Admin:
		return ""
	case strings.HasPrefix(template, "/api/users/{userID}/"):
		if pathID(template, path, "{userID}") == actor.ID {
			return ""
		}
	case strings.HasPrefix(template, "/api/service-accounts"):
	case method == http.MethodGet,
		strings.HasPrefix(template, "/api/incidents/"),
		strings.HasPrefix(template, "/api/schedule"):
		return ""
	}
	return "only an admin may do this"
}

// beyondTeam bounds a team-scoped account: it may do everything on its team but delete it.
func beyondTeam(actor model.Actor, method, template, path string) string {
	switch {
	case method == http.MethodGet && (template == "/api/teams" || template == "/api/me" || template == "/api/version"):
		return ""
	case !strings.HasPrefix(template, "/api/teams/{teamID}"), pathID(template, path, "{teamID}") != actor.TeamID:
		return "this key reaches one team only"
	case method == http.MethodDelete && template == "/api/teams/{teamID}":
		return "a key of a team may not delete it"
	}
	return ""
}

// pathID reads a variable of a path template; 0 when it is no number.
func pathID(template, path, variable string) int64 {
	names, values := strings.Split(template, "/"), strings.Split(path, "/")
	for i, name := range names {
		if name != variable || i >= len(values) {
			continue
		}
		if id, err := strconv.ParseInt(values[i], 10, 64); err == nil {
			return id
		}
	}
	return 0
}
