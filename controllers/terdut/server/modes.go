package server

import (
	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// effectiveMode is what the namespaces of teams get. It is empty while nothing
// can be given and it is not known yet whether the server can hand out keys that
// reach one team only.
//
// issued is true when teams hold such keys. Then a server that seems to offer
// them no more changes nothing: a fall from Scoped is never automatic.
func effectiveMode(server *v1alpha1.TerdutServer, issued bool) v1alpha1.CredentialsMode {
	asked := v1alpha1.CredentialsAuto
	if spec := server.Spec.Credentials; spec != nil && spec.Mode != "" {
		asked = spec.Mode
	}
	if asked != v1alpha1.CredentialsAuto {
		return asked
	}
	was := modeBefore(server)
	switch stateOf(server.Status.Capabilities, v1alpha1.CapabilityServiceAccounts) {
	case v1alpha1.CapabilityPresent:
		return v1alpha1.CredentialsScoped
	case v1alpha1.CapabilityAbsent:
		if was == v1alpha1.CredentialsScoped && issued {
			return v1alpha1.CredentialsScoped
		}
		return v1alpha1.CredentialsOperatorOnly
	}
	if was == v1alpha1.CredentialsMirrored {
		// Nobody asks for copies any more.
		return v1alpha1.CredentialsOperatorOnly
	}
	return was
}

// modeBefore is the mode that the status holds.
func modeBefore(server *v1alpha1.TerdutServer) v1alpha1.CredentialsMode {
	if server.Status.Credentials == nil {
		return ""
	}
	return server.Status.Credentials.Mode
}

func stateOf(known []v1alpha1.ServerCapability, name string) v1alpha1.CapabilityState {
	for _, c := range known {
		if c.Name == name {
			return c.State
		}
	}
	return v1alpha1.CapabilityUnknown
}

// issued tells whether a team holds a key of its own.
func issued(teams []v1alpha1.TerdutTeam) bool {
	for i := range teams {
		if c := teams[i].Status.Credentials; c != nil && c.KeyID != 0 {
			return true
		}
	}
	return false
}
