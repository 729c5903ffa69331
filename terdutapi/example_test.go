package terdutapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// Only a JSON 404 proves that an object is gone; a server without the route, or a proxy's page, does not.
func ExampleClient_DeleteTeam() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprint(w, `{"error":"team not found"}`)
	}))
	defer server.Close()

	client, err := terdutapi.New(server.URL, terdutapi.WithAPIKey("0123456789abcdef"))
	if err != nil {
		fmt.Println(err)
		return
	}
	err = client.DeleteTeam(context.Background(), 42)
	fmt.Println(err)
	fmt.Println(errors.Is(err, terdutapi.ErrNotFound), errors.Is(err, terdutapi.ErrRouteMissing))
	// Output:
	// DELETE /api/teams/{}: not found (404): team not found
	// true false
}
