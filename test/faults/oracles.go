package faults

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"git.ryuvia.com/niklas/terdut-operator/test/faults/inject"
)

// Verdict is what the oracles say of one run.
type Verdict struct {
	// Wrong are the complaints; none means survived.
	Wrong []string
	// Allowed are the declared losses that were met.
	Allowed []string
	// Fired is true when every fault has met its point.
	Fired bool
	// Effects are the labels of all effects until everything was at rest, in order.
	Effects []string
	// Looked is how many values of Secrets the outputs were searched for, Hits how
	// many of them were found.
	Looked, Hits int
	// Misled is true when the operator was shown what was not the present, and
	// Passes the most that one step took until nothing was written any more; both
	// are known in memory only.
	Misled bool
	Passes int
}

// reference is what an undisturbed run has shown.
type reference struct {
	state            []string
	written          tally
	effects, refused []string
	changes, reads   []inject.Point
	foreign          []string
}

// Oracles judge a run, always all six of them:
//
//  1. The final state is that of the reference, on both planes.
//  2. Nothing is there twice, nothing is left over: each object on the server is
//     recorded by exactly one object here, each live key is in a Secret.
//  3. No object was created or deleted, and none on the server changed, more
//     often than in the reference, but once for each fault, and not at all more
//     often for a view that is wrong.
//  4. At no moment was there a Ready that was a lie, a Secret half written, a
//     published key destroyed, a finalizer gone too early.
//  5. Ten resyncs later nothing was written on either plane.
//  6. No panic, and no value of a Secret outside of Secrets.
func (r *Run) oracles(ref *reference, faults int) (v Verdict) {
	add := func(format string, args ...any) { v.Wrong = append(v.Wrong, fmt.Sprintf(format, args...)) }
	for _, line := range difference(ref.state, r.state()) {
		add("1 final state: %s", line)
	}
	for _, line := range r.strays() {
		if !slices.Contains(ref.foreign, line) {
			add("2 strays: %s", line)
		}
	}
	written, broken := r.watch.told()
	r.mu.Lock()
	left, declared := r.watch.leftPolicies(r.log.String())
	r.mu.Unlock()
	broken, v.Allowed = append(broken, left...), declared
	want := ref.written.oneByOne()
	for _, line := range slices.Concat(
		surplus("created", want.created, written.created, faults), surplus("deleted", want.deleted, written.deleted, faults),
		surplus("changed", want.changed, written.changed, faults),
	) {
		add("3 writes: %s", line)
	}
	for _, line := range broken {
		add("4 always: %s", line)
	}
	v.Effects = r.Injector.Effects()
	if err := r.stays(); err != nil {
		add("5 stable: %v", err)
	}
	found := r.leaks()
	for _, line := range found {
		add("6 clean: %s", line)
	}
	v.Looked, v.Hits = len(r.watch.values()), len(found)
	v.Fired = r.Injector.Fired()
	return v
}

// difference is what one state has and the other has not.
func difference(want, got []string) (out []string) {
	count := map[string]int{}
	for _, line := range got {
		count[line]++
	}
	for _, line := range want {
		if count[line] == 0 {
			out = append(out, "missing "+line)
		}
		count[line]--
	}
	for _, line := range got {
		if count[line] > 0 {
			out = append(out, "surplus "+line)
			count[line]--
		}
	}
	return out
}

// oneByOne is a tally in which what goes with its team may as well go before it,
// one after the other.
func (t tally) oneByOne() tally {
	out := tally{created: t.created, deleted: maps.Clone(t.deleted), changed: maps.Clone(t.changed)}
	teams := t.deleted["DELETE /api/teams/{id}"]
	out.deleted["DELETE /api/teams/{id}/deadman-switches/{id}"] += teams
	out.deleted["DELETE /api/teams/{id}/integrations/{id}"] += teams
	out.changed["PUT /api/teams/{id}/escalation"] += teams
	return out
}

// surplus is what was done more often than in the reference.
func surplus(what string, want, got map[string]int, allowed int) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if got[name] > want[name]+allowed {
			out = append(out, fmt.Sprintf("%s was %s %d times, %d in the reference", name, what, got[name], want[name]))
		}
	}
	return out
}

// strays are objects on servers that not exactly one object here has recorded,
// and live keys that are in no Secret.
func (r *Run) strays() (out []string) { //nolint:gocyclo // one census: who is recorded, which keys are known, what is there
	holders := map[string]int{}
	known := map[string]bool{}
	for _, o := range r.World.Objects(kinds...) {
		namespace, _, _ := unstructured.NestedString(o.Object, "status", "remote", "serverNamespace")
		server, _, _ := unstructured.NestedString(o.Object, "status", "remote", "serverName")
		id, _, _ := unstructured.NestedInt64(o.Object, "status", "remote", "id")
		if o.GetDeletionTimestamp() != nil {
			out = append(out, fmt.Sprintf("%s is still being deleted", idOf(o)))
		}
		if _, found := r.recorded(o); found {
			holders[fmt.Sprintf("%s/%s %s %d", namespace, server, o.GetKind(), id)]++
		}
		retiring, _, _ := unstructured.NestedInt64(o.Object, "status", "credentials", "retiring", "keyID")
		known[fmt.Sprintf("%s/%s %d", o.GetNamespace(), o.GetName(), retiring)] = true
	}
	for _, secret := range r.World.Objects("Secret") {
		for _, value := range secretData(secret) {
			for _, key := range r.servers() {
				known[fmt.Sprintf("%s %d", key, r.peers[key].KeyID(value))] = true
			}
		}
	}
	for _, key := range r.servers() {
		s := r.peers[key]
		if !r.serves(key.Namespace, key.Name) {
			continue // what is left of it is a database
		}
		check := func(kind, name string, id int64) {
			if n := holders[fmt.Sprintf("%s %s %d", key, kind, id)]; n != 1 {
				out = append(out, fmt.Sprintf("%s %q on %s is recorded by %d objects", kind, name, key, n))
			}
		}
		for _, t := range s.Teams() {
			check("TerdutTeam", t.Name, t.ID)
			for _, d := range s.Switches(t.ID) {
				check("TerdutDeadmanSwitch", d.Name, d.ID)
			}
			for _, i := range s.Integrations(t.ID) {
				check("TerdutAlertSource", i.Name, i.ID)
			}
		}
		for _, k := range s.LiveKeys() {
			if !known[fmt.Sprintf("%s %d", key, k.ID)] {
				out = append(out, fmt.Sprintf("a key of %s is live on %s and in no Secret", plainly(ownerOf(s, k.OwnerID)), key))
			}
		}
	}
	return out
}

// stays: a settled world is not written to.
func (r *Run) stays() error {
	before, trace := r.writes(), len(r.Injector.Effects())
	if err := r.Resync(10); err != nil {
		return err
	}
	asked := r.Injector.Effects()[trace:]
	if n := r.writes() - before; n != 0 {
		return fmt.Errorf("%d writes in ten resyncs: %s", n, strings.Join(asked, ", "))
	}
	// Nor is the API server asked for what it has already.
	if asked = slices.DeleteFunc(asked, func(label string) bool { return !strings.HasPrefix(label, "K8S ") }); len(asked) > 0 {
		return fmt.Errorf("%d requests in ten resyncs that change nothing: %s", len(asked), strings.Join(asked, ", "))
	}
	return nil
}

// leaks looks for values of Secrets where none belong, as they are, in base64
// and in a URL.
func (r *Run) leaks() (out []string) {
	var text strings.Builder
	for _, o := range r.World.Objects() {
		if o.GetKind() == "Secret" {
			o = o.DeepCopy()
			delete(o.Object, "data")
		}
		raw, err := json.Marshal(o.Object)
		if err != nil {
			return []string{err.Error()}
		}
		text.Write(raw)
	}
	r.mu.Lock()
	places := map[string]string{
		"an object": text.String(), "the log": r.log.String(), "an Event": strings.Join(r.events, "\n"),
	}
	r.mu.Unlock()
	for value, where := range r.watch.values() {
		for _, spelt := range []string{value, base64.StdEncoding.EncodeToString([]byte(value)), url.QueryEscape(value)} {
			for _, place := range slices.Sorted(maps.Keys(places)) {
				if strings.Contains(places[place], spelt) {
					out = append(out, fmt.Sprintf("the value of %s is in %s", where, place))
				}
			}
		}
	}
	return out
}
