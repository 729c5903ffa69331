package terdutapi_test

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"git.ryuvia.com/niklas/terdut-operator/openapi"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

func methodsOf(v any) map[string]bool {
	names := map[string]bool{}
	for i := range reflect.TypeOf(v).NumMethod() {
		names[reflect.TypeOf(v).Method(i).Name] = true
	}
	return names
}

// TestPathsAreShownAsTemplates asks every path of the document and compares what an error says with the template.
func TestPathsAreShownAsTemplates(t *testing.T) {
	var doc struct {
		Paths map[string]any `json:"paths"`
	}
	if err := yaml.Unmarshal(openapi.Document, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Paths) < 40 {
		t.Fatalf("the document has %d paths", len(doc.Paths))
	}
	c := answering(t, 503, "", "")
	for path := range doc.Paths {
		segments := strings.Split(path, "/")
		want := strings.Split(path, "/")
		for i, segment := range segments {
			if strings.HasPrefix(segment, "{") {
				segments[i], want[i] = "12345", "{}"
			}
		}
		redirected := func(_ context.Context, req *http.Request) error {
			req.URL.Path = strings.Join(segments, "/")
			return nil
		}
		_, err := c.Generated().ListTeams(context.Background(), redirected)
		var failure *terdutapi.Error
		if !errors.As(err, &failure) || failure.Path != strings.Join(want, "/") {
			t.Errorf("%s is shown as %v: complete the list of words", path, err)
		}
	}
}

func TestGeneratedClientIsGuardedToo(t *testing.T) {
	_, err := answering(t, 200, "text/html", "<html>").Generated().GetIncidentStatsWithResponse(context.Background())
	only(t, err, terdutapi.ErrUnexpectedAnswer)
	_, err = answering(t, 404, jsonType, `{"error":"incident not found"}`).Generated().
		SnoozeIncidentWithResponse(context.Background(), 1, terdutapi.SnoozeRequest{Duration: "90m"})
	only(t, err, terdutapi.ErrNotFound)
	got, err := answering(t, 200, jsonType, `{"total":3,"firing":1,"resolved":2}`).Generated().
		GetAlertStatsWithResponse(context.Background())
	if err != nil || got.JSON200 == nil || got.JSON200.Total != 3 {
		t.Errorf("GetAlertStats = %+v, %v", got, err)
	}
}
