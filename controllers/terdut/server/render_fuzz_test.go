package server

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// FuzzRender renders what the schema of a spec allows, and more: the rules
// across fields are not asked. seed is what the spec is made from.
func FuzzRender(f *testing.F) {
	for i := range 64 {
		f.Add([]byte{byte(i), byte(i * 7), byte(255 - i), byte(i * i)}, "text")
	}
	schema := specSchema(f)
	f.Fuzz(func(t *testing.T, seed []byte, text string) {
		drawn := &drawing{seed: seed, text: text}
		raw, err := json.Marshal(drawn.value(schema, 0))
		if err != nil {
			t.Fatal(err)
		}
		in := Inputs{Namespace: "oncall", Name: "terdut", UID: "00000000-0000-0000-0000-000000000001"}
		if err = json.Unmarshal(raw, &in.Spec); err != nil {
			t.Fatalf("the schema allows what the type cannot read: %v\n%s", err, raw)
		}
		in.Database = Database{DSN: "postgres://terdut@db:5432/terdut", Password: &SecretKey{Secret: "db", Key: "password"}}
		if wired, err := ownWiring(&in.Spec.Database); err == nil {
			in.Database = wired.Database
		}
		in.Database.PasswordHMAC = passwordHMAC([]byte("a key"), []byte("a password"))
		in.Route = listenerOf(&in.Spec) != nil
		before := in.Spec.DeepCopy()
		children := Render(in)
		if !reflect.DeepEqual(&in.Spec, before) {
			t.Errorf("rendering changed the spec\n%s", raw)
		}
		if !reflect.DeepEqual(children, Render(in)) {
			t.Errorf("rendered twice and not the same\n%s", raw)
		}
		for _, child := range children {
			stored(t, child, string(raw))
		}
	})
}

// stored wants a child to be spelled as the API server stores it: nothing in it
// is empty, and what the API type reads of it is what it says.
func stored(t *testing.T, child runtime.ApplyConfiguration, from string) {
	t.Helper()
	raw, err := json.Marshal(child)
	if err != nil {
		t.Fatal(err)
	}
	rendered := map[string]any{}
	if err = json.Unmarshal(raw, &rendered); err != nil {
		t.Fatal(err)
	}
	walk(t, from, "", rendered)
	var object any
	switch rendered["kind"] {
	case "Deployment":
		object = &appsv1.Deployment{}
	case "Service":
		object = &corev1.Service{}
	default:
		return // a kind of somebody else's, which has no type here
	}
	if err = json.Unmarshal(raw, object); err != nil {
		t.Fatalf("%s cannot be read: %v\n%s", rendered["kind"], err, from)
	}
	if raw, err = json.Marshal(object); err != nil {
		t.Fatal(err)
	}
	read := map[string]any{}
	if err = json.Unmarshal(raw, &read); err != nil {
		t.Fatal(err)
	}
	if where := missing("", rendered, read); where != "" {
		t.Errorf("%s: %s is stored otherwise than it is rendered\n%s", rendered["kind"], where, from)
	}
}

// missing is where got does not have what want has; empty when it has all.
func missing(path string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		other, ok := got.(map[string]any)
		if !ok {
			return path
		}
		for name, value := range want {
			inner, there := other[name]
			if !there {
				return path + "." + name
			}
			if where := missing(path+"."+name, value, inner); where != "" {
				return where
			}
		}
		return ""
	case []any:
		other, ok := got.([]any)
		if !ok || len(other) != len(want) {
			return path
		}
		for i := range want {
			if where := missing(fmt.Sprintf("%s[%d]", path, i), want[i], other[i]); where != "" {
				return where
			}
		}
		return ""
	}
	if !reflect.DeepEqual(want, got) {
		return path
	}
	return ""
}
