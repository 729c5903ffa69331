package server

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

const (
	// absentAfter is how many probes have to miss a part before it counts as
	// absent, and probePause the time between two of them: three in ten
	// minutes. A proxy that answers for a moment must not count.
	absentAfter = 3
	probePause  = 4 * time.Minute
	// probeAgain is the number of resyncs after which a server is asked again
	// for what it offers.
	probeAgain = 6
)

// How a capability was found.
const (
	sourceVersion = "version"
	sourceProbe   = "probe"
)

// capabilities are the names that are looked for.
var capabilities = []string{
	v1alpha1.CapabilityChosenKeys, v1alpha1.CapabilityListKeys, v1alpha1.CapabilityMe,
	v1alpha1.CapabilityServiceAccounts, v1alpha1.CapabilityVersion,
}

// probe is what this process knows of a server's capabilities.
type probe struct {
	found map[string]v1alpha1.ServerCapability
	// misses counts the probes in a row that have missed a part, and missed is
	// when the last of them was.
	misses map[string]int
	missed map[string]time.Time
	// at is the last complete probe, and generation that of the TerdutServer
	// then: an upgrade is a new one.
	at         time.Time
	generation int64
	// tried is when a probe was begun, complete or not, and vague whether it has
	// left open what decides whose the operator's next key is.
	tried time.Time
	vague bool
}

// capability is what is known of one part of a server.
func (r *Reconciler) capability(server *v1alpha1.TerdutServer, name string) (state v1alpha1.CapabilityState) {
	r.memory.of(server, func(e *remembered) { state = e.probe.recall(server)[name].State })
	if state == "" {
		return v1alpha1.CapabilityUnknown
	}
	return state
}

// recall is what is known; at first what the status says.
func (p *probe) recall(server *v1alpha1.TerdutServer) map[string]v1alpha1.ServerCapability {
	if p.found == nil {
		p.found, p.misses, p.missed = map[string]v1alpha1.ServerCapability{}, map[string]int{}, map[string]time.Time{}
		for _, c := range server.Status.Capabilities {
			p.found[c.Name] = c
		}
	}
	return p.found
}

// undecided tells whether it is open whose a new key is to be, because the server
// did not answer when it was asked what it offers: one that has service accounts
// would get a key of a user, and another one soon after.
func (r *Reconciler) undecided(server *v1alpha1.TerdutServer) (vague bool) {
	r.memory.of(server, func(e *remembered) { vague = e.probe.vague })
	return vague && r.capability(server, v1alpha1.CapabilityServiceAccounts) == v1alpha1.CapabilityUnknown
}

// learn notes what an answer has proved about one part.
func (r *Reconciler) learn(server *v1alpha1.TerdutServer, name string, present bool) {
	r.memory.of(server, func(e *remembered) { e.probe.set(server, name, present, sourceProbe) })
}

func (p *probe) set(server *v1alpha1.TerdutServer, name string, present bool, source string) {
	state := v1alpha1.CapabilityAbsent
	if present {
		state = v1alpha1.CapabilityPresent
	}
	found := p.recall(server)
	delete(p.misses, name)
	if found[name].State != state || source == sourceVersion {
		found[name] = v1alpha1.ServerCapability{Name: name, State: state, Source: source}
	}
}

// miss notes that a probe has missed a part. Only several of them, some time
// apart, prove that it is not there.
func (p *probe) miss(server *v1alpha1.TerdutServer, name string, now time.Time) {
	known := p.recall(server)[name].State == v1alpha1.CapabilityAbsent
	if known || p.misses[name] > 0 && now.Sub(p.missed[name]) < probePause {
		return
	}
	p.misses[name]++
	p.missed[name] = now
	if p.misses[name] >= absentAfter {
		p.set(server, name, false, sourceProbe)
	}
}

// due is when to look for capabilities next.
func (p *probe) due(server *v1alpha1.TerdutServer, resync time.Duration) time.Time {
	p.recall(server)
	switch {
	case p.tried.After(p.at), p.vague:
		return p.tried.Add(retryPause)
	case p.at.IsZero() || p.generation != server.Generation:
		return time.Time{}
	case len(p.misses) > 0:
		return p.at.Add(probePause)
	}
	return p.at.Add(probeAgain * resync)
}

// list is what the status says.
func (p *probe) list(server *v1alpha1.TerdutServer) []v1alpha1.ServerCapability {
	found := maps.Clone(p.recall(server))
	for _, name := range capabilities {
		if _, known := found[name]; !known {
			found[name] = v1alpha1.ServerCapability{Name: name, State: v1alpha1.CapabilityUnknown, Source: sourceProbe}
		}
	}
	list := make([]v1alpha1.ServerCapability, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		list = append(list, found[name])
	}
	return list
}

// discover finds out which optional parts a server has, when it is time. The
// caller has just read something with the key; together with a good health
// answer that shows that it is the server who answers. Anything unclear judges
// nothing.
func (r *Reconciler) discover(ctx context.Context, server *v1alpha1.TerdutServer, api *terdutapi.Client) error {
	now, due := r.Now(), time.Time{}
	r.memory.of(server, func(e *remembered) { due = e.probe.due(server, r.Resync) })
	if due.After(now) {
		return r.writeCapabilities(ctx, server)
	}
	r.memory.of(server, func(e *remembered) { e.probe.tried, e.probe.vague = now, true })
	if api.Health(ctx) != nil {
		return r.writeCapabilities(ctx, server)
	}
	version, err := api.Version(ctx)
	versionMissing := errors.Is(err, terdutapi.ErrRouteMissing)
	if err != nil && !versionMissing {
		return r.writeCapabilities(ctx, server)
	}
	var accounts, me error
	if versionMissing {
		_, accounts = api.FindServiceAccount(ctx, accountName(server))
	}
	_, me = api.Me(ctx)
	r.memory.of(server, func(e *remembered) {
		p := &e.probe
		p.at, p.generation = now, server.Generation
		p.vague = version == nil && accounts != nil && !errors.Is(accounts, terdutapi.ErrRouteMissing)
		if version != nil {
			p.told(server, version)
			return
		}
		p.miss(server, v1alpha1.CapabilityVersion, now)
		p.judge(server, v1alpha1.CapabilityServiceAccounts, accounts, now)
		p.judge(server, v1alpha1.CapabilityMe, me, now)
	})
	return r.writeCapabilities(ctx, server)
}

// told takes the server's own word.
func (p *probe) told(server *v1alpha1.TerdutServer, version *terdutapi.Version) {
	p.set(server, v1alpha1.CapabilityVersion, true, sourceVersion)
	for _, name := range capabilities {
		if name != v1alpha1.CapabilityVersion {
			p.set(server, name, slices.Contains(version.Capabilities, name), sourceVersion)
		}
	}
}

// judge takes the answer to a request of one part.
func (p *probe) judge(server *v1alpha1.TerdutServer, name string, err error, now time.Time) {
	switch {
	case err == nil:
		p.set(server, name, true, sourceProbe)
	case errors.Is(err, terdutapi.ErrRouteMissing):
		p.miss(server, name, now)
	}
}

// writeCapabilities writes what is known into the status, if that is new.
func (r *Reconciler) writeCapabilities(ctx context.Context, server *v1alpha1.TerdutServer) error {
	next := *server.Status.DeepCopy()
	known := false
	r.memory.of(server, func(e *remembered) {
		known = !e.probe.at.IsZero()
		next.Capabilities = e.probe.list(server)
	})
	if !known {
		return nil
	}
	return r.write(ctx, server, started(next))
}

// started is a status that is written in the middle of a pass.
func started(next v1alpha1.TerdutServerStatus) v1alpha1.TerdutServerStatus {
	if next.ObservedGeneration == 0 {
		next.ObservedGeneration = -1
	}
	return next
}
