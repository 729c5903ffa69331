package server

import (
	"testing"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

func TestEffectiveMode(t *testing.T) {
	const (
		auto     = v1alpha1.CredentialsAuto
		scoped   = v1alpha1.CredentialsScoped
		mirrored = v1alpha1.CredentialsMirrored
		only     = v1alpha1.CredentialsOperatorOnly
		present  = v1alpha1.CapabilityPresent
		absent   = v1alpha1.CapabilityAbsent
		unknown  = v1alpha1.CapabilityUnknown
	)
	for _, c := range []struct {
		asked, was v1alpha1.CredentialsMode
		can        v1alpha1.CapabilityState
		issued     bool
		want       v1alpha1.CredentialsMode
	}{
		{"", "", unknown, false, ""},
		{auto, "", "", false, ""},
		{auto, "", present, false, scoped},
		{auto, "", absent, false, only},
		{auto, scoped, unknown, true, scoped},
		{auto, scoped, absent, true, scoped},
		{auto, scoped, absent, false, only},
		{auto, only, unknown, false, only},
		{auto, only, present, false, scoped},
		{auto, mirrored, unknown, false, only},
		{auto, mirrored, present, false, scoped},
		{auto, mirrored, absent, false, only},
		{scoped, "", absent, false, scoped},
		{scoped, mirrored, unknown, false, scoped},
		{mirrored, scoped, present, true, mirrored},
		{mirrored, "", unknown, false, mirrored},
		{only, scoped, present, true, only},
		{only, mirrored, unknown, false, only},
	} {
		s := &v1alpha1.TerdutServer{}
		if c.asked != "" {
			s.Spec.Credentials = &v1alpha1.ServerCredentials{Mode: c.asked}
		}
		if c.was != "" {
			s.Status.Credentials = &v1alpha1.ServerCredentialsStatus{Mode: c.was}
		}
		if c.can != "" {
			s.Status.Capabilities = []v1alpha1.ServerCapability{{Name: v1alpha1.CapabilityServiceAccounts, State: c.can}}
		}
		if got := effectiveMode(s, c.issued); got != c.want {
			t.Errorf("%q asked after %q, service accounts %q, issued %v: %q, want %q", c.asked, c.was, c.can, c.issued, got, c.want)
		}
	}
}
