package main

import (
	"bytes"
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

func TestRun(t *testing.T) {
	server, err := refserver.New(refserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	defer web.Close()
	_, key, err := server.AddUser("root", true)
	if err != nil {
		t.Fatal(err)
	}
	platform, err := server.Model().CreateTeam("Platform")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = server.Model().CreateTeam("Web"); err != nil {
		t.Fatal(err)
	}
	if _, _, err = server.Model().CreateIntegration(platform.ID, "alertmanager", "prod", ""); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err = run(context.Background(), web.URL, key, &out); err != nil {
		t.Fatal(err)
	}
	want := "ID   TEAM       INTEGRATIONS\n3    Platform   prod (alertmanager)\n4    Web        \n"
	if out.String() != want {
		t.Errorf("printed\n%s", out.String())
	}
	for _, bad := range [][2]string{{"", key}, {web.URL, ""}, {web.URL, "wrong"}, {"nowhere", key}} {
		if err = run(context.Background(), bad[0], bad[1], &out); err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("run(%v) = %v", bad, err)
		}
	}
}
