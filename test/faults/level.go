package faults

import "git.ryuvia.com/niklas/terdut-operator/test/faults/inject"

// Level begins a run of its kind: in memory, or on a real API server.
type Level func() (*Run, error)

// On is the same scenario on another level than in memory.
func (s Scenario) On(level Level) Scenario {
	s.level = level
	return s
}

func (s Scenario) begin() (*Run, error) {
	if s.level == nil {
		return InBubble()
	}
	return s.level()
}

// Reference is what an undisturbed run has shown.
type Reference struct{ *reference }

// Effects are the labels of its effects, in order.
func (r Reference) Effects() []string { return r.effects }

// Refused are the labels of those effects that were refused by whom they were
// meant for, in order.
func (r Reference) Refused() []string { return r.refused }

// Refer plays a scenario undisturbed, and judges what that comes to.
func (s Scenario) Refer() (Reference, Verdict, error) {
	ref, v, err := s.refer()
	return Reference{ref}, v, err
}

// Try plays a scenario with faults and judges it. story is what has happened.
func (s Scenario) Try(ref Reference, faults ...inject.Fault) (v Verdict, story string) {
	return s.tell(ref.reference, faults...)
}
