package testenv

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

func TestAWriteIsCountedBeforeItCanBeSeen(t *testing.T) {
	counted := &Requests{}
	var seen []string
	transport := counted.wrap(roundTripper(func(*http.Request) (*http.Response, error) {
		seen = counted.Writes()
		counted.Reset()
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	}))
	resp, err := transport.RoundTrip(httptest.NewRequest(http.MethodPatch, "/api/v1/namespaces/a/services/b", http.NoBody))
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	if want := []string{"PATCH /api/v1/namespaces/a/services/b"}; !slices.Equal(seen, want) {
		t.Errorf("counted %v when the API server was asked, want %v", seen, want)
	}
	if left := counted.Writes(); len(left) > 0 {
		t.Errorf("counted %v after a Reset that came after them", left)
	}
}
