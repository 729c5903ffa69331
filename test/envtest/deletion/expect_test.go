package deletion_test

import (
	"slices"
	"strconv"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// verdict is what becomes of one object by the rules.
type verdict string

const (
	// cleaned: it is deleted on the server, and then goes.
	cleaned verdict = "cleaned"
	// left: it goes, and nothing is asked of the server: that was wanted.
	left verdict = "left"
	// released: it goes although nothing could be cleaned up, which is told and
	// counted.
	released verdict = "released"
	// held: it stays, and says why.
	held verdict = "held"
)

// kinds are those of which each cell has one object, the team first.
var kinds = []string{"TerdutTeam", "TerdutEscalationRule", "TerdutDeadmanSwitch", "TerdutAlertSource"}

// verdictOn is the verdict on one object. force is true once the annotation
// force-orphan was set, which is the way out for what is held.
func verdictOn(c cell, kind string, force bool) verdict {
	reachable := c.key == good && (c.server == up || c.server == terminating)
	switch {
	case c.policy == orphans && !hasKey(c, kind):
		return left
	case serverGoes(c):
		return released
	case reachable && c.policy == orphans:
		return left
	case reachable:
		return cleaned
	case force:
		return released
	default:
		return held
	}
}

// hasKey tells whether the object has a key of its own for its tenant. Its
// Secret goes with the object, so it has to be revoked whatever the policy
// says: it would be a key that nobody knows of.
func hasKey(c cell, kind string) bool {
	return kind == "TerdutTeam" && c.mode() == v1alpha1.CredentialsScoped
}

// serverGoes tells whether nothing on the server can be left behind: it is
// gone, its namespace is going, or it terminates without its Deployment.
func serverGoes(c cell) bool {
	return c.server == gone || c.trigger == byServerNamespace || c.trigger == byBothNamespaces ||
		c.server == terminating && c.trigger == byForeground && c.deployed()
}

// aspect is one thing that can be seen after a deletion.
type aspect string

// expectation is what may be seen, by aspect.
type expectation map[aspect][]string

// observation is what was seen, by aspect.
type observation map[aspect]string

// Values of aspects.
const (
	there     = "there"
	absent    = "gone"
	going     = "terminating"
	none      = "0"
	once      = "1"
	onObject  = "Event on the object"
	onServer  = "Event on the TerdutServer"
	notTold   = "no Event"
	degraded  = "stays, Degraded: "
	undecided = "stays, and does not say why"
)

// expect says what has to be seen once a cell has come to rest; with force,
// after the annotation force-orphan was set on what is held. It follows the
// rules for deletion and knows nothing of the code.
func expect(c cell, force bool) expectation {
	e := expectation{}
	for _, kind := range kinds {
		v := verdictOn(c, kind, force)
		e.object(c, kind, v)
		e.calls(c, kind, v)
		e[of("notice about", kind)] = noticeOf(c, v, force)
	}
	e.installs(c, force)
	e.secrets(c, force)
	e["unfinished objects on the server"] = []string{none}
	e["released, by the log"] = []string{strconv.Itoa(count(c, force))}
	return e
}

func of(what, kind string) aspect { return aspect(what + " " + kind) }

// object is the custom resource and what it stands for on the server.
func (e expectation) object(c cell, kind string, v verdict) {
	e[aspect(kind)] = []string{absent}
	if v == held {
		e[aspect(kind)] = reasons(c)
	}
	e[of("on the server:", kind)] = []string{there}
	if v == cleaned || verdictOn(c, kinds[0], false) == cleaned {
		e[of("on the server:", kind)] = []string{absent}
	}
	if hasKey(c, kind) {
		e["on the server: the team's key"] = []string{there}
		if v == cleaned || v == left {
			e["on the server: the team's key"] = []string{absent}
		}
	}
}

// reasons are how an object may say why it stays. A server that has no key for
// the operator is one to wait for.
func reasons(c cell) []string {
	switch c.key {
	case missing:
		return []string{degraded + v1alpha1.ReasonWaitingForServer}
	case revoked:
		return []string{degraded + v1alpha1.ReasonWaitingForServer, degraded + v1alpha1.ReasonCredentialRejected}
	default:
		return []string{degraded + v1alpha1.ReasonServerUnreachable}
	}
}

// calls are those that delete the object. What belongs to a team may have gone
// with it before its own turn comes.
func (e expectation) calls(c cell, kind string, v verdict) {
	if v != held {
		e[of("tries to delete", kind)] = []string{none}
	}
	e[of("deletions of", kind)] = []string{none}
	if v != cleaned {
		return
	}
	e[of("deletions of", kind)] = []string{once}
	if kind != kinds[0] && c.trigger != byKubectl {
		e[of("deletions of", kind)] = []string{none, once}
	}
	e[of("tries to delete", kind)] = e[of("deletions of", kind)]
}

// noticeOf is where it is told that an object stays, or was let go without
// being cleaned up. No Event can be made in a namespace that terminates.
func noticeOf(c cell, v verdict, force bool) []string {
	tenantGoes := c.trigger == byTenantNamespace || c.trigger == byBothNamespaces
	nowhere := c.server == gone || c.trigger == byServerNamespace || c.trigger == byBothNamespaces
	switch {
	case v != held && v != released:
		return []string{notTold}
	case !tenantGoes:
		return []string{onObject}
	case v == held || nowhere:
		return []string{notTold}
	case c.server == terminating && force:
		// Let go by the same word, the TerdutServer may be the first to go.
		return []string{onServer, notTold}
	default:
		return []string{onServer}
	}
}

// installs are the TerdutServer and the namespaces.
func (e expectation) installs(c cell, force bool) {
	e["TerdutServer"] = []string{there}
	switch {
	case c.server == gone, c.trigger == byServerNamespace, c.trigger == byBothNamespaces:
		e["TerdutServer"] = []string{absent}
	case c.server == terminating && verdictOn(c, kinds[0], force) == held:
		e["TerdutServer"] = []string{going}
	case c.server == terminating:
		e["TerdutServer"] = []string{absent}
	}
	e["namespace of the tenant"], e["namespace of the server"] = []string{there}, []string{there}
	if c.trigger == byTenantNamespace || c.trigger == byBothNamespaces {
		e["namespace of the tenant"] = []string{absent}
		if holds(c, force) {
			e["namespace of the tenant"] = []string{going}
		}
	}
	if c.trigger == byServerNamespace || c.trigger == byBothNamespaces {
		e["namespace of the server"] = []string{absent}
	}
}

// secrets are those with keys. Those of the tenant belong to an object and go
// with it, or before it when they are deleted by themselves.
func (e expectation) secrets(c cell, force bool) {
	e["Secret with the operator's key"] = []string{there}
	if c.key == missing || e["TerdutServer"][0] == absent {
		e["Secret with the operator's key"] = []string{absent}
	}
	team, source := verdictOn(c, "TerdutTeam", force), verdictOn(c, "TerdutAlertSource", force)
	e["Secret with the team's key"], e["Secret with the webhook"] = []string{absent}, []string{absent}
	switch c.trigger {
	case byTenantNamespace, byBothNamespaces:
	case byForeground:
		if source == left {
			// Whoever deletes in the foreground asks for the Secret to go first.
			e["Secret with the webhook"] = []string{there, absent}
		}
	default:
		if source == held || source == left {
			e["Secret with the webhook"] = []string{there}
		}
		if team == held && hasKey(c, "TerdutTeam") {
			e["Secret with the team's key"] = []string{there}
		}
	}
}

// holds tells whether anything stays.
func holds(c cell, force bool) bool {
	return slices.ContainsFunc(kinds, func(kind string) bool { return verdictOn(c, kind, force) == held })
}

// count is how many of the four are let go without being cleaned up.
func count(c cell, force bool) int {
	n := 0
	for _, kind := range kinds {
		if verdictOn(c, kind, force) == released {
			n++
		}
	}
	return n
}
