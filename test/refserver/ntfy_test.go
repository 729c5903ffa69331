package refserver_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
)

func TestNtfy(t *testing.T) {
	status := 200
	var got string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = r.URL.EscapedPath() + " " + r.Header.Get("Authorization") + " " + string(body)
		w.WriteHeader(status)
	}))
	ntfy, err := refserver.NewNtfy(web.URL+"/base", "canary")
	if err != nil {
		t.Fatal(err)
	}
	page := model.Page{Topic: "on-call", Title: "DiskFull", Severity: "critical"}
	if err = ntfy.Notify(ctx, page); err != nil || got != "/base/on-call Bearer canary [critical] DiskFull" {
		t.Errorf("ntfy saw %q, %v", got, err)
	}
	status = 403
	if err = ntfy.Notify(ctx, page); err == nil || err.Error() != "ntfy answered 403" {
		t.Errorf("error is %v", err)
	}
	web.Close()
	if err = ntfy.Notify(ctx, page); err == nil || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("error is %v", err)
	}
	if _, err = refserver.NewNtfy("ntfy", ""); err == nil {
		t.Error("an address without scheme was accepted")
	}
}
