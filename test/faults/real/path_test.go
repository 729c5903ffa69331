package real

import "testing"

func TestPathsGetTheSuffixOfTheirRun(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/secrets":                                           "/api/v1/secrets",
		"/api/v1/namespaces":                                        "/api/v1/namespaces",
		"/api/v1/namespaces/payments":                               "/api/v1/namespaces/payments-run00007",
		"/api/v1/namespaces/payments/finalize":                      "/api/v1/namespaces/payments-run00007/finalize",
		"/api/v1/namespaces/payments/secrets/db":                    "/api/v1/namespaces/payments-run00007/secrets/db",
		"/apis/apps/v1/namespaces/payments/deployments/d/status":    "/apis/apps/v1/namespaces/payments-run00007/deployments/d/status",
		"/apis/terdut.ryuvia.com/v1alpha1/terdutteams":              "/apis/terdut.ryuvia.com/v1alpha1/terdutteams",
		"/apis/terdut.ryuvia.com/v1alpha1/namespaces/a/terdutteams": "/apis/terdut.ryuvia.com/v1alpha1/namespaces/a-run00007/terdutteams",
		"/apis/apps/v1":                                             "/apis/apps/v1",
		"/api":                                                      "/api",
		"/openapi/v3":                                               "/openapi/v3",
	} {
		if got := parse(path).with("-run00007"); got != want {
			t.Errorf("%s became %s", path, got)
		}
	}
}
