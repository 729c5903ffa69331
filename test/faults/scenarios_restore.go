package faults

import (
	"context"
	"fmt"
	"strconv"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
)

// restores are backups that come back, of the cluster or of the server.
func restores() []Scenario {
	chain := before(installed(everything, "OperatorOnly"), apply(here))
	across := before(installed(everything, "Scoped"), apply(there))
	conflict := "False " + v1alpha1.ReasonNameConflict
	taped := before([]Step{serveTaped(everything)}, installed(everything, "OperatorOnly")[1:]...)
	replaced := before(installed(everything, "OperatorOnly"), apply(fmt.Sprintf(justTeam, "platform")))
	changes := together(
		spec(ourTeam, "Payments EU", "displayName"), spec(ourSwitch, "30m", "timeout"), spec(ourSource, "alerts-eu", "name"),
		annotate(ourSource, v1alpha1.AnnotationRotate, "1"),
	)
	back := together(spec(ourTeam, "Payments", "displayName"), spec(ourSwitch, "15m", "timeout"), spec(ourSource, "alerts", "name"))
	return []Scenario{
		{Name: "statuses-lost", Before: chain, Steps: []Step{onEach(append([]string{theServer}, ourChain...), loseStatus)}, Ends: ready(ourChain...)},
		{Name: "statuses-lost-across", Before: across, Steps: []Step{
			onEach(theirChain, loseStatus),
			together(
				says(theirTeam, "Synced", conflict),
				merge(theServer, `{"spec":{"allowedTeams":{"adopt":[{"namespace":"payments"}]}}}`),
			),
		}, Ends: ready(theirChain...)},
		{Name: "rebuilt-from-git", Before: chain, Steps: []Step{
			together(onEach(ourChain, strip), remove(ourChain...)),
			apply(here),
			together(ready(ourTeam, ourRule, ourSwitch), says(ourSource, "Synced", "False "+v1alpha1.ReasonKeyUnknown), deleteIntegrations),
			annotate(ourSource, v1alpha1.AnnotationReconcile, "1"),
		}, Ends: ready(ourChain...)},
		{Name: "old-statuses", Before: before(chain, together(onEach(ourChain, keepStatus), changes)), Steps: []Step{
			onEach(ourChain, putStatus),
		}, Ends: ready(ourChain...)},
		{Name: "old-statuses-and-specs", Before: before(chain, together(onEach(ourChain, keepStatus), changes)), Steps: []Step{
			together(onEach(ourChain, putStatus), back),
		}, Ends: ready(ourChain...)},
		{Name: "server-of-before", Before: before(taped, together(save, apply(here))), Steps: []Step{rewind}, Ends: ready(ourChain...)},
		{Name: "server-of-before-scoped", Before: before([]Step{serveTaped(scopedToday)}, before(installed(scopedToday, "Scoped")[1:], together(save, apply(fmt.Sprintf(justTeam, "payments"))))...), Steps: []Step{rewind}, Ends: ready(theirTeam)},
		{Name: "server-of-strangers", Before: before(taped, together(save, apply(fmt.Sprintf(justTeam, "platform")))), Steps: []Step{
			together(rewind, strangersTeam("Other")), // under the ID of ours
		}, Ends: together(ready(ourTeam), hasTeam("Other")), Orphans: true},
		{Name: "server-of-yesterday", Before: before(taped, apply(here), together(save, changes)), Steps: []Step{rewind}, Ends: ready(ourChain...), Orphans: true},
		{Name: "server-of-other-keys", Before: before(taped, together(save, annotate(theServer, v1alpha1.AnnotationRotate, "1")), bootstrapped), Steps: []Step{
			rewind, together(bootstrapped, handOver, keyed),
		}, Ends: ready(theServer)},
		{Name: "another-server", Before: replaced, Steps: []Step{
			together(serve(everything), bootstrapped, strangersTeam("Other"), strangersTeam("Payments")),
			together(
				eitherBootstrapped,
				handOver, keyed,
			),
		}, Ends: ready(theServer), Orphans: true},
	}
}

// hasTeam checks that a team of that name is on the server.
func hasTeam(name string) Step {
	return onServer(func(s *refserver.Server) error {
		for _, t := range s.Teams() {
			if t.Name == name {
				return nil
			}
		}
		return fmt.Errorf("the server has no team %q any more", name)
	})
}

// loseStatus takes an object's status away, as a backup tool does.
func loseStatus(text string) Step {
	return func(r *Run) error {
		object, err := r.find(text)
		if err != nil {
			return err
		}
		object.Object["status"] = map[string]any{}
		return r.User.Status().Update(context.Background(), object)
	}
}

// keepStatus keeps an object's status, and putStatus puts it back.
func keepStatus(text string) Step {
	return func(r *Run) error {
		object, err := r.find(text)
		if err == nil {
			r.kept[text] = object.Object["status"]
		}
		return err
	}
}

func putStatus(text string) Step {
	return func(r *Run) error {
		object, err := r.find(text)
		if err != nil {
			return err
		}
		object.Object["status"] = r.kept[text]
		return r.User.Status().Update(context.Background(), object.DeepCopy())
	}
}

// deleteIntegrations deletes every integration on the server.
var deleteIntegrations = onServer(func(s *refserver.Server) error {
	for _, t := range s.Teams() {
		if err := deleteIntegrationsOf(s, t.ID); err != nil {
			return err
		}
	}
	return nil
})

func deleteIntegrationsOf(s *refserver.Server, team int64) error {
	for _, i := range s.Integrations(team) {
		if err := s.Model().DeleteIntegration(team, i.ID); err != nil {
			return fmt.Errorf("delete integration %q: %w", i.Name, err)
		}
	}
	return nil
}

// tape is a database of which an older state can be put back.
type tape struct {
	state    []byte
	revision int
}

// Load implements model.Store.
func (t *tape) Load(context.Context, string) (model.Snapshot, error) {
	if t.revision == 0 {
		return model.Snapshot{}, nil
	}
	return model.Snapshot{Revision: strconv.Itoa(t.revision), State: t.state}, nil
}

// Update implements model.Store.
func (t *tape) Update(_ context.Context, change func([]byte) ([]byte, error)) (string, error) {
	next, err := change(t.state)
	if err != nil {
		return "", err
	}
	t.revision++
	t.state = next
	return strconv.Itoa(t.revision), nil
}

// Ping implements model.Store.
func (t *tape) Ping(context.Context) error { return nil }

// serveTaped is serve, with a database of which an older state can be put back.
func serveTaped(o refserver.Options) Step {
	return func(r *Run) error {
		own, t := o, &tape{} // runs go side by side: each has options of its own
		r.kept["tape"], own.Store = t, t
		return serve(own)(r)
	}
}

// save keeps the state of the server as it is.
func save(r *Run) error {
	t, ok := r.kept["tape"].(*tape)
	if !ok {
		return fmt.Errorf("save the server: it has no tape")
	}
	r.kept["saved"] = t.state
	return nil
}

// rewind puts back what was saved.
func rewind(r *Run) error {
	t, ok := r.kept["tape"].(*tape)
	state, saved := r.kept["saved"].([]byte)
	if !ok || !saved {
		return fmt.Errorf("rewind the server: nothing was saved")
	}
	t.revision++
	t.state = state
	return r.peer("platform", "terdut").Model().Refresh(context.Background())
}
