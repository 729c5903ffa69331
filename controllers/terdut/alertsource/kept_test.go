package alertsource

import (
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

func TestWhatCanBeAnAddress(t *testing.T) {
	for _, good := range []string{"https://terdut.example.com/hooks/k?a=b", "http://10.0.0.1:8080/k", "/hooks/k"} {
		if !isAddress(good) || !isPlain(good) {
			t.Errorf("%q cannot be an address", good)
		}
	}
	for _, bad := range []string{"hooks/k", "ftp://x/k", "https://", "https://user:pass@x/k", "//x/k", "mailto:x", "%zz", "http://[::1"} {
		if isAddress(bad) {
			t.Errorf("%q can be an address", bad)
		}
	}
}

func TestWhatCanTravel(t *testing.T) {
	if !isPlain(strings.Repeat("0a", 32)) || !isPlain("a!~z") {
		t.Error("a key cannot travel")
	}
	for _, bad := range []string{"two words", "line\nbreak", "tab\t", "schlüssel", "\x00", "\x7f"} {
		if isPlain(bad) {
			t.Errorf("%q can travel", bad)
		}
	}
}

func TestGrace(t *testing.T) {
	for text, want := range map[string]time.Duration{"": defaultGrace, "0s": 0, "90m": 90 * time.Minute, "nonsense": defaultGrace} {
		s := &v1alpha1.TerdutAlertSource{}
		if text != "" {
			s.Spec.RotationGrace = ptr.To(v1alpha1.Grace(text))
		}
		if got := graceOf(s); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestNamesOfSecrets(t *testing.T) {
	s := &v1alpha1.TerdutAlertSource{}
	s.Name = "alerts"
	if got := secretNames(s); len(got) != 1 || got[0] != "alerts-terdut-webhook" || recordedSecret(s) != got[0] {
		t.Errorf("%q", got)
	}
	s.Status.WebhookURLSecretRef = &v1alpha1.LocalRef{Name: "alerts-terdut-webhook"}
	s.Spec.WebhookSecretName = "elsewhere"
	if got := secretNames(s); len(got) != 2 || got[0] != "elsewhere" || recordedSecret(s) != "alerts-terdut-webhook" {
		t.Errorf("%q", got)
	}
	s.Spec.ExistingKeySecretRef = &v1alpha1.LocalRef{Name: "kept"}
	if got := meant(s); len(got) != 2 || got[1] != "kept" {
		t.Errorf("%q", got)
	}
}
