package refserver_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"

	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

// inProcess is a world whose admin reaches the server without a network.
func inProcess(t *testing.T) *world {
	w := newWorld(t)
	c, err := terdutapi.New("http://terdut.oncall.svc:8080", terdutapi.WithAPIKey(w.key),
		terdutapi.WithHTTPClient(&http.Client{Transport: w.server.Transport()}))
	w.must(err)
	w.admin = c
	return w
}

func TestInProcess(t *testing.T) {
	w := inProcess(t)
	team := w.team("a")
	_, err := w.admin.CreateTeam(ctx, "a")
	w.refused(err, terdutapi.ErrConflict, "a team of that name exists")
	for _, c := range []struct {
		fault refserver.Fault
		want  error
	}{
		{refserver.Drop, terdutapi.ErrNoAnswer},
		{refserver.LoseAnswer, terdutapi.ErrNoAnswer},
		{refserver.Truncate, terdutapi.ErrUnexpectedAnswer},
		{refserver.Answer(502, "text/html", "<html>"), terdutapi.ErrUnavailable},
	} {
		w.server.SetFault(func(*http.Request, string) refserver.Fault { return c.fault })
		_, err = w.admin.RenameTeam(ctx, team.ID, "b")
		w.refused(err, c.want, "")
	}
	w.server.SetFault(func(*http.Request, string) refserver.Fault { return refserver.Hang })
	short, cancel := context.WithCancel(ctx)
	cancel()
	_, err = w.admin.ListTeams(short)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestLateDuplicate(t *testing.T) {
	w := inProcess(t)
	var late refserver.Late
	w.server.SetFault(func(_ *http.Request, route string) refserver.Fault {
		if route == "POST /api/teams" || route == "DELETE /api/teams/{teamID}" {
			return late.Fault
		}
		return nil
	})
	team := w.team("a")
	w.must(w.admin.DeleteTeam(ctx, team.ID))
	if got := late.Deliver(); !slices.Equal(got, []int{201, 404}) || len(w.server.Teams()) != 1 {
		t.Errorf("late answers are %v, teams %+v", got, w.server.Teams())
	}
	if got := late.Deliver(); len(got) != 0 {
		t.Errorf("delivered again: %v", got)
	}
}
