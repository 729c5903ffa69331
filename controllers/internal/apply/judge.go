package apply

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// judgement is what is to be done about an object.
type judgement struct {
	difference
	// want is the intent without what is left to others now.
	want *intent
	// drift tells who has the fields that differ from want. It is empty when nothing does.
	drift []FieldDrift
	// ceded is what is left to others.
	ceded []FieldDrift
}

// judge compares an object with its intent, and leaves out what is left to others: yieldable fields as long as another
// manager has them, and, unless the intent is new, contested ones until their next repair is due.
func (e *Engine) judge(live client.Object, want *intent, isNew bool) (judgement, error) {
	seen, err := e.observe(live, want.key)
	if err != nil {
		return judgement{}, err
	}
	result := judgement{want: want}
	if result.difference, err = seen.against(want); err != nil {
		return judgement{}, err
	}
	if err = e.leaveCeded(&result, live); err == nil {
		err = e.leaveContested(&result, live, isNew)
	}
	switch {
	case err == nil:
		return result, nil
	case isSecret(want.key.gvk()):
		return judgement{}, fmt.Errorf("compare %s with its intent: what is left to others does not fit the schema", want.key)
	}
	return judgement{}, fmt.Errorf("compare %s with its intent: leave fields to others: %w", want.key, err)
}

func (e *Engine) leaveCeded(result *judgement, live client.Object) error {
	if result.same {
		return nil
	}
	ceded, err := e.ceded(result.observation, result.want, live.GetManagedFields())
	if err != nil {
		return err
	}
	result.ceded = ceded.fields
	return e.leaveOut(result, ceded.paths)
}

func (e *Engine) leaveContested(result *judgement, live client.Object, isNew bool) error {
	if !result.same {
		result.drift = attribute(result.difference, live.GetManagedFields())
	}
	// Fields that do not differ calm down.
	e.memory.calm(live.GetUID(), result.drift)
	if isNew {
		return nil
	}
	held := e.memory.held(live.GetUID(), result.drift)
	var paths []fieldpath.Path
	for i := range held {
		switch {
		case !held[i]:
		case len(result.paths) == 0:
			// Only an order differs, and nothing can be left out for that.
			result.same, result.drift = true, nil
			return nil
		case !has(result.owned, result.paths[i]):
			// To leave out what we own would delete it.
			paths = append(paths, result.paths[i])
		}
	}
	if len(paths) == 0 {
		return nil
	}
	if err := e.leaveOut(result, paths); err != nil {
		return err
	}
	result.drift = nil
	if !result.same {
		result.drift = attribute(result.difference, live.GetManagedFields())
	}
	return nil
}

// leaveOut takes the paths out of the intent, and compares again.
func (e *Engine) leaveOut(result *judgement, paths []fieldpath.Path) error {
	if len(paths) == 0 {
		return nil
	}
	less, err := e.without(result.want, paths)
	if err != nil {
		return err
	}
	result.want = less
	result.difference, err = result.against(less)
	return err
}
