package story

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/demo/stage"
)

const (
	// intruder is the field manager of the change by hand.
	intruder = "night-shift"
	strange  = "example.com/some/other-image:latest"
	renamed  = "Nobody's team"
)

// byHand changes two fields of the Deployment in one patch. The image is the operator's. To pause is not: it stays until
// the one who set it takes it back, and meanwhile keeps the pod running, which has the server's data in memory here.
const byHand = `{"spec":{"paused":true,"template":{"spec":{"containers":[{"name":"terdut-server","image":"` + strange + `"}]}}}}`

func drift(ctx context.Context, w *world) error {
	return errors.Join(driftOfDeployment(ctx, w), driftOfTeam(ctx, w))
}

func driftOfDeployment(ctx context.Context, w *world) error {
	deployment := &appsv1.Deployment{}
	if err := w.get(ctx, platform, serverName, deployment); err != nil {
		return err
	}
	image := deployment.Spec.Template.Spec.Containers[0].Image
	_, err := w.Kubectl(ctx, "patch", "deployment", serverName, "-n", platform, "--field-manager="+intruder, "-p", byHand)
	if err != nil {
		return err
	}
	w.Line("   kubectl patch deployment: another image, and paused, by field manager %s", intruder)
	err = w.await(ctx, "the image is restored, and paused is left alone", func(ctx context.Context) error {
		if getErr := w.get(ctx, platform, serverName, deployment); getErr != nil {
			return getErr
		}
		if now := deployment.Spec.Template.Spec.Containers[0].Image; now != image {
			return fmt.Errorf("the image of Deployment %s/%s is %s, want %s", platform, serverName, now, image)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !deployment.Spec.Paused {
		return fmt.Errorf("spec.paused of Deployment %s/%s is gone, though the operator does not set it", platform, serverName)
	}
	if err = w.showEvents(ctx, platform, serverName, v1alpha1.EventDriftCorrected, intruder); err != nil {
		return err
	}
	_, err = w.Kubectl(ctx, "patch", "deployment", serverName, "-n", platform, "--field-manager="+intruder, "-p", `{"spec":{"paused":null}}`)
	if err != nil {
		return err
	}
	return stage.Until(ctx, patience, w.allSettled)
}

func driftOfTeam(ctx context.Context, w *world) error {
	if _, err := w.api.RenameTeam(ctx, w.teamID, renamed); err != nil {
		return fmt.Errorf("rename the team: %w", err)
	}
	w.Line("   PUT /api/teams/%d: the team is called %q now", w.teamID, renamed)
	err := w.await(ctx, fmt.Sprintf("the team is called %q again", displayed), func(ctx context.Context) error {
		v, lookErr := look(ctx, w.api)
		if lookErr == nil && v.team.Name != displayed {
			lookErr = fmt.Errorf("team %d is called %q, want %q", v.team.ID, v.team.Name, displayed)
		}
		return lookErr
	})
	if err != nil {
		return err
	}
	return w.showEvents(ctx, payments, teamName, v1alpha1.EventDriftCorrected, "")
}

// showEvents waits for an Event about an object with this reason and this word, and shows all with the reason.
func (w *world) showEvents(ctx context.Context, namespace, name, reason, word string) error {
	var found []eventsv1.Event
	err := stage.Until(ctx, patience, func(ctx context.Context) error {
		list := &eventsv1.EventList{}
		if err := w.Kube.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return fmt.Errorf("list events of %s: %w", namespace, err)
		}
		found = found[:0]
		named := false
		for _, e := range list.Items {
			if e.Regarding.Name != name || e.Reason != reason {
				continue
			}
			found = append(found, e)
			named = named || strings.Contains(e.Note, word)
		}
		if !named {
			return fmt.Errorf("no Event %s about %s/%s names %q", reason, namespace, name, word)
		}
		return nil
	})
	for _, e := range found {
		w.Line("   Event %s  %s  %s  %s/%s", at(&e), e.Type, e.Reason, e.Regarding.Kind, e.Regarding.Name)
		w.Line("     %s", e.Note)
	}
	return err
}

func at(e *eventsv1.Event) string {
	when := e.EventTime.Time
	if when.IsZero() {
		when = e.CreationTimestamp.Time
	}
	return when.UTC().Format(time.TimeOnly)
}
