package rbac

import (
	"slices"
	"testing"
)

func TestNote(t *testing.T) {
	const allowed = `"annotations":{"authorization.k8s.io/decision":"allow"}`
	for name, c := range map[string]struct {
		line          string
		used, refused []Right
	}{
		"a read": {
			`{"verb":"get","user":{"username":"terdut-operator"},"objectRef":{"resource":"deployments","apiGroup":"apps"},` + allowed + `}`,
			[]Right{{"apps", "deployments", "get"}}, nil,
		},
		"an apply that makes something": {
			`{"verb":"patch","user":{"username":"terdut-operator"},"objectRef":{"resource":"secrets"},"responseStatus":{"code":201},` + allowed + `}`,
			[]Right{{"", "secrets", "create"}, {"", "secrets", "patch"}}, nil,
		},
		"a subresource, as the ServiceAccount": {
			`{"verb":"patch","user":{"username":"admin"},"impersonatedUser":{"username":"system:serviceaccount:terdut-system:terdut-operator"},` +
				`"objectRef":{"resource":"terdutteams","subresource":"status","apiGroup":"terdut.ryuvia.com"},"responseStatus":{"code":200},` + allowed + `}`,
			[]Right{{"terdut.ryuvia.com", "terdutteams/status", "patch"}}, nil,
		},
		"what was refused": {
			`{"verb":"list","user":{"username":"terdut-operator"},"objectRef":{"resource":"nodes"},"responseStatus":{"code":403},` +
				`"annotations":{"authorization.k8s.io/decision":"forbid"}}`,
			nil, []Right{{"", "nodes", "list"}},
		},
		"what another user did": {
			`{"verb":"list","user":{"username":"admin"},"objectRef":{"resource":"nodes"},` + allowed + `}`, nil, nil,
		},
		"what is no resource": {`{"verb":"get","user":{"username":"terdut-operator"},` + allowed + `}`, nil, nil},
	} {
		u := &Usage{}
		if err := u.note([]byte(c.line)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.Equal(u.Used, c.used) || !slices.Equal(u.Refused, c.refused) {
			t.Errorf("%s: used %v, refused %v", name, u.Used, u.Refused)
		}
	}
	if err := (&Usage{}).note([]byte("{")); err == nil {
		t.Error("half an event is read")
	}
}
