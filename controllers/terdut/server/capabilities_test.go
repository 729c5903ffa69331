package server

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// TestProbes: a part counts as absent after three probes in ten minutes. From then
// on it is looked for as seldom as everything else.
func TestProbes(t *testing.T) {
	const resync = 10 * time.Minute
	server := &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{UID: "u"}}
	p, now := &probe{}, noon.Time
	for i, expected := range []struct {
		state v1alpha1.CapabilityState
		next  time.Duration
	}{
		{"", probePause},
		{"", probePause},
		{v1alpha1.CapabilityAbsent, probeAgain * resync},
		{v1alpha1.CapabilityAbsent, probeAgain * resync},
	} {
		p.at, p.tried = now, now
		p.miss(server, v1alpha1.CapabilityVersion, now)
		if got := p.recall(server)[v1alpha1.CapabilityVersion].State; got != expected.state {
			t.Errorf("probe %d: %q, want %q", i+1, got, expected.state)
		}
		if got := p.due(server, resync).Sub(now); got != expected.next {
			t.Errorf("probe %d: the next one is in %s, want %s", i+1, got, expected.next)
		}
		now = now.Add(expected.next)
	}
}
