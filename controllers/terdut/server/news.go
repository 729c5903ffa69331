package server

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// countPause is the least time between two writes of a status in which only
// the number of teams differs, or only what teams claim: everything that lives
// on the server watches it.
const countPause = time.Minute

// news is what a new status says that the old one does not.
type news struct {
	// counts is the number of teams, claims what they claim.
	counts, claims bool
	// urgent is everything else.
	urgent bool
}

func newsOf(was, next v1alpha1.TerdutServerStatus) news {
	n := news{
		counts: next.AttachedTeams != was.AttachedTeams,
		claims: !equality.Semantic.DeepEqual(withClaimsOf(nil, next.Conditions), withClaimsOf(nil, was.Conditions)),
	}
	quiet := next
	quiet.AttachedTeams, quiet.Conditions = was.AttachedTeams, withClaimsOf(next.Conditions, was.Conditions)
	was.Conditions = withClaimsOf(was.Conditions, was.Conditions)
	n.urgent = !equality.Semantic.DeepEqual(was, quiet)
	return n
}

// untilWritten is how long a status that differs in nothing but the number of teams,
// or what they claim, has to wait; 0 means not at all. Each of the two has a
// minute of its own: a team that asks for something is heard although others
// come.
func (r *Reconciler) untilWritten(server *v1alpha1.TerdutServer, n news) (wait time.Duration) {
	if n.urgent || !n.counts && !n.claims {
		return 0
	}
	wait = countPause
	r.memory.of(server, func(e *remembered) {
		now := r.Now()
		if n.counts {
			wait = min(wait, countPause-now.Sub(e.counted))
		}
		if n.claims {
			wait = min(wait, countPause-now.Sub(e.claimed))
		}
	})
	return max(wait, 0)
}

// told takes note of what was written. A write that failed has told nobody.
func (r *Reconciler) told(server *v1alpha1.TerdutServer, n news) {
	r.memory.of(server, func(e *remembered) {
		if n.counts {
			e.counted = r.Now()
		}
		if n.claims {
			e.claimed = r.Now()
		}
	})
}
