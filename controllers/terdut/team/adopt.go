package team

import (
	"fmt"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/attach"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/consent"
)

// mayAdopt: a team that was there before may be anybody's. From the server's own
// namespace it is taken over; any other tenant could merely have named it, and
// needs the leave of the server's owner.
func mayAdopt(t *v1alpha1.TerdutTeam, at attach.Access) remote.Adoption {
	switch {
	case t.Spec.AdoptionPolicy == v1alpha1.AdoptionNever:
		return remote.Adoption{Otherwise: "choose another name, or set spec.adoptionPolicy to Auto to take it over where that is allowed"}
	case consent.MayAdopt(t.Namespace, at.Server, t.Spec.DisplayName):
		return remote.Adoption{Allowed: true}
	default:
		return remote.Adoption{Askable: true, Otherwise: fmt.Sprintf(
			"choose another name, or ask the owner of TerdutServer %s/%s for spec.allowedTeams.adopt, the entry of which its status shows",
			at.Server.Namespace, at.Server.Name)}
	}
}
