package attach

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/event"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// TestServerUse: teams are woken by what they use of their server, and by
// nothing else: each of thousands would look.
func TestServerUse(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.TerdutServer)
		wakes  bool
	}{
		"consent": {func(s *v1alpha1.TerdutServer) { s.Spec.AllowedTeams.Namespaces.From = v1alpha1.FromAll }, true},
		"leave to adopt": {func(s *v1alpha1.TerdutServer) {
			s.Spec.AllowedTeams.Adopt = []v1alpha1.AdoptionLeave{{Namespace: "payments"}}
		}, true},
		"hostname":           {func(s *v1alpha1.TerdutServer) { s.Spec.Networking.Hostname = "terdut.example.com" }, true},
		"external address":   {func(s *v1alpha1.TerdutServer) { s.Spec.External.URL = "https://other.example.com" }, true},
		"number of teams":    {func(s *v1alpha1.TerdutServer) { s.Status.AttachedTeams = 7 }, false},
		"image":              {func(s *v1alpha1.TerdutServer) { s.Spec.Image = &v1alpha1.ServerImage{Tag: "v2"} }, false},
		"observedGeneration": {func(s *v1alpha1.TerdutServer) { s.Status.ObservedGeneration = 2 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := &v1alpha1.TerdutServer{}
			before.Spec.External = &v1alpha1.ServerExternal{URL: "https://terdut.example.com"}
			now := before.DeepCopy()
			c.change(now)
			if wakes := ServerUse().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: now}); wakes != c.wakes {
				t.Errorf("wakes: %t", wakes)
			}
		})
	}
}

// TestMoved: what shows the address of a server is woken when that changes, and
// only then.
func TestMoved(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.TerdutServer)
		wakes  bool
	}{
		"hostname": {func(s *v1alpha1.TerdutServer) { s.Spec.Networking.Hostname = "terdut.example.com" }, true},
		"port":     {func(s *v1alpha1.TerdutServer) { s.Spec.Networking.ServicePort = 9090 }, true},
		"external": {func(s *v1alpha1.TerdutServer) {
			s.Spec.External = &v1alpha1.ServerExternal{URL: "https://terdut.example.com"}
		}, true},
		"listener":        {func(s *v1alpha1.TerdutServer) { s.Spec.Networking.GatewayListener = "gateways/public/https" }, false},
		"consent":         {func(s *v1alpha1.TerdutServer) { s.Spec.AllowedTeams.Namespaces.From = v1alpha1.FromAll }, false},
		"number of teams": {func(s *v1alpha1.TerdutServer) { s.Status.AttachedTeams = 7 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := &v1alpha1.TerdutServer{}
			now := before.DeepCopy()
			c.change(now)
			if wakes := Moved().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: now}); wakes != c.wakes {
				t.Errorf("wakes: %t", wakes)
			}
		})
	}
	if Moved().Create(event.CreateEvent{Object: &v1alpha1.TerdutServer{}}) {
		t.Error("a server that appears has no former address")
	}
}
