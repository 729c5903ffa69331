package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
	"git.ryuvia.com/niklas/terdut-operator/test/postgres"
)

const (
	role     = "ter@dut/ü 1"
	password = `canary@ss/w?rd#1 '"\%2F`
)

// installation is a database with the environment that a server needs for it.
type installation struct {
	*postgres.Postgres
	env []string
}

func install(t *testing.T) installation {
	t.Helper()
	postgres.Need(t)
	pg, err := postgres.Start(t.Context(), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if stopErr := pg.Stop(); stopErr != nil {
			t.Error(stopErr)
		}
	})
	if err = pg.CreateDatabase(t.Context(), role, role, password); err != nil {
		t.Fatal(err)
	}
	i := installation{Postgres: pg}
	i.env = i.with(password)
	return i
}

func (i installation) with(password string) []string {
	return []string{"TERDUT_DATABASE_URL=" + i.URL(role, role), "PGPASSWORD=" + password}
}

// stored is the document in the database.
func (i installation) stored(ctx context.Context) (string, error) {
	admin, err := i.Connect(ctx, role)
	if err != nil {
		return "", err
	}
	var state string
	err = admin.QueryRow(ctx, `SELECT state::text FROM refserver_state`).Scan(&state)
	return state, errors.Join(err, admin.Close(ctx))
}

// seen is what a client sees of users and of a team.
func seen(ctx context.Context, c *terdutapi.Client, teamID int64) (string, error) {
	users, userErr := c.ListUsers(ctx)
	teams, teamErr := c.ListTeams(ctx)
	policy, policyErr := c.GetEscalation(ctx, teamID)
	integrations, integrationErr := c.ListIntegrations(ctx, teamID)
	text, err := json.Marshal([]any{users, teams, policy, integrations})
	return string(text), errors.Join(userErr, teamErr, policyErr, integrationErr, err)
}

func TestRestartKeepsEverything(t *testing.T) {
	g, ctx, database := NewWithT(t), t.Context(), install(t)
	first := launch(t, database.env...)
	key := first.bootstrap()
	admin := first.client(key)
	user, err := admin.CreateUser(ctx, "ada", "ada@example.com")
	g.Expect(err).NotTo(HaveOccurred())
	team, err := admin.CreateTeam(ctx, "platform \x00 'ä'")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = admin.PutEscalation(ctx, team.ID, terdutapi.EscalationPolicy{
		RepeatCount: 1, FallbackTopic: "all", Levels: []terdutapi.EscalationLevel{
			{Timeout: "5m", Targets: []terdutapi.EscalationTarget{{Kind: terdutapi.TargetUser, UserID: &user.ID}}},
		},
	})
	g.Expect(err).NotTo(HaveOccurred())
	source, err := admin.CreateIntegration(ctx, team.ID,
		terdutapi.CreateIntegrationRequest{Kind: terdutapi.KindAlertmanager, Name: "prod"})
	g.Expect(err).NotTo(HaveOccurred())
	before, err := seen(ctx, admin, team.ID)
	g.Expect(err).NotTo(HaveOccurred())
	first.stop()
	<-first.read
	g.Expect(first.output()).To(And(ContainSubstring("state in database"), Not(ContainSubstring("canary"))))

	second := launch(t, database.env...)
	again := second.client(key)
	g.Expect(seen(ctx, again, team.ID)).To(Equal(before))
	g.Expect(again.SendAlerts(ctx, source.Key, terdutapi.AlertmanagerWebhook{
		Version: "4", GroupKey: "g", Status: terdutapi.AlertFiring, Alerts: []terdutapi.AlertmanagerAlert{
			{Status: terdutapi.AlertFiring, Labels: map[string]string{"alertname": "A"}, StartsAt: user.CreatedAt},
		},
	})).To(Succeed())
	g.Expect(again.ListIncidents(ctx, nil)).To(HaveLen(1))
	_, err = second.client("").Bootstrap(ctx, terdutapi.BootstrapRequest{Username: "x", Email: "x@example.com"})
	g.Expect(err).To(MatchError(terdutapi.ErrForbidden))
	g.Expect(database.stored(ctx)).To(And(ContainSubstring("platform"),
		Not(ContainSubstring(key)), Not(ContainSubstring(source.Key))))
}

func TestTwoServersShareOneDatabase(t *testing.T) {
	g, ctx, database := NewWithT(t), t.Context(), install(t)
	servers := []*program{launch(t, database.env...), launch(t, database.env...)}

	var group sync.WaitGroup
	keys := make(chan string, len(servers))
	for _, server := range servers {
		group.Go(func() {
			first, err := server.client("").Bootstrap(ctx, terdutapi.BootstrapRequest{Username: "r", Email: "r@example.com"})
			if err == nil {
				keys <- first.Key
			}
		})
	}
	group.Wait()
	g.Expect(keys).To(HaveLen(1), "one install has one bootstrap")
	key := <-keys

	const each = 15
	failures := make(chan error, len(servers)*each)
	for n, server := range servers {
		admin := server.client(key)
		group.Go(func() {
			for i := range each {
				_, err := admin.CreateTeam(ctx, fmt.Sprintf("%d-%d", n, i))
				failures <- err
			}
		})
	}
	group.Wait()
	close(failures)
	for err := range failures {
		g.Expect(err).NotTo(HaveOccurred())
	}
	teams, err := servers[0].client(key).ListTeams(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(servers[1].client(key).ListTeams(ctx)).To(Equal(teams))
	ids := map[int64]bool{}
	for _, team := range teams {
		ids[team.ID] = true
	}
	g.Expect(ids).To(HaveLen(len(servers) * each))

	_, err = servers[1].client(key).CreateTeam(ctx, teams[0].Name)
	g.Expect(err).To(MatchError(terdutapi.ErrConflict))
	g.Expect(servers[1].client(key).DeleteTeam(ctx, teams[0].ID)).To(Succeed())
	_, err = servers[0].client(key).RenameTeam(ctx, teams[0].ID, "gone")
	g.Expect(err).To(MatchError(terdutapi.ErrNotFound))
}

func TestRefusedLoginEndsTheServer(t *testing.T) {
	g, database := NewWithT(t), install(t)
	server := launch(t, database.with("canary")...)
	g.Expect(server.process.ExitCode()).To(Equal(exitFailed))
	g.Expect(server.url).To(BeEmpty(), "it must not listen")
	g.Expect(server.output()).To(Equal(
		fmt.Sprintf("refserver: database: password authentication failed for user %q (SQLSTATE 28P01)\n", role)))

	g.Expect(database.Down()).To(Succeed())
	server = launch(t, database.env...)
	g.Expect(server.process.ExitCode()).To(Equal(exitFailed))
	g.Expect(server.output()).To(And(HavePrefix("refserver: database: "), ContainSubstring("connection refused")))
	g.Expect(strings.Count(server.output(), "\n")).To(Equal(1))
}

func TestPasswordRotation(t *testing.T) {
	g, ctx, database := NewWithT(t), t.Context(), install(t)
	old := launch(t, database.env...)
	key := old.bootstrap()

	g.Expect(database.SetPassword(ctx, role, "canary-new")).To(Succeed())
	g.Expect(database.Disconnect(ctx, role)).To(Succeed())
	g.Eventually(old.health).WithTimeout(patience).Should(Equal(http.StatusServiceUnavailable))
	g.Eventually(old.output).WithTimeout(patience).Should(ContainSubstring("password authentication failed"))
	g.Expect(launch(t, database.env...).process.ExitCode()).To(Equal(exitFailed))

	fresh := launch(t, database.with("canary-new")...)
	g.Expect(fresh.health()).To(Equal(http.StatusOK))
	g.Expect(fresh.client(key).ListUsers(ctx)).To(HaveLen(1))

	g.Expect(database.SetPassword(ctx, role, password)).To(Succeed())
	g.Eventually(old.health).WithTimeout(patience).Should(Equal(http.StatusOK))
	g.Expect(old.output() + fresh.output()).NotTo(ContainSubstring("canary"))
}

func TestDatabaseGoesAndComesBack(t *testing.T) {
	g, ctx, database := NewWithT(t), t.Context(), install(t)
	server := launch(t, database.env...)
	key := server.bootstrap()
	admin := server.client(key)
	_, err := admin.CreateTeam(ctx, "kept")
	g.Expect(err).NotTo(HaveOccurred())

	g.Expect(database.Down()).To(Succeed())
	g.Expect(server.health()).To(Equal(http.StatusServiceUnavailable))
	for _, path := range []string{"/api/teams", "/api/me"} {
		status, body := server.get(path, key)
		g.Expect(status).To(Equal(http.StatusInternalServerError))
		g.Expect(body).To(Equal(`{"error":"internal error"}`))
	}
	_, err = admin.CreateTeam(ctx, "lost")
	g.Expect(err).To(MatchError(terdutapi.ErrUnavailable))
	status, body := server.get("/api/nothing", key)
	g.Expect(status).To(Equal(http.StatusNotFound))
	g.Expect(body).To(Equal("404 page not found"))

	g.Expect(database.Up(ctx)).To(Succeed())
	g.Eventually(server.health).WithTimeout(patience).Should(Equal(http.StatusOK))
	teams, err := admin.ListTeams(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(teams).To(HaveLen(1))
	g.Expect(teams[0].Name).To(Equal("kept"))
	_, err = admin.CreateTeam(ctx, "new")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(server.output()).NotTo(ContainSubstring("canary"))
}
