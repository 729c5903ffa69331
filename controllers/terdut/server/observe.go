package server

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
)

// Seen is what a pass found out, as far as it came.
type Seen struct {
	// Database is nil when it was not resolved.
	Database *Database
	// Deployment is nil when there is none.
	Deployment *appsv1.Deployment
	// Records of the children; nil when the pass did not come to them.
	Records []apply.Record
	// Converged is true when every child is as this generation wants it.
	Converged bool
	// Identity is nil when the operator has no accepted key, or the pass did
	// not come to it.
	Identity *Identity
	// Teams is the number of attached teams.
	Teams int32
}

// Observe is the status of a server after a pass. It is pure: what the pass did
// not see is carried forward from the status before. ending is why the pass
// ended early, or nil.
func Observe(server *v1alpha1.TerdutServer, seen Seen, ending *outcome.Ending, now metav1.Time) v1alpha1.TerdutServerStatus {
	next := *server.Status.DeepCopy()
	if next.ObservedGeneration == 0 {
		next.ObservedGeneration = -1
	}
	if seen.Converged {
		next.ServiceName = serviceName(server.Name)
	}
	if seen.Converged && seen.Identity != nil {
		next.ObservedGeneration = server.Generation
	}
	if seen.Identity != nil {
		next.OperatorCredentialsSecretRef = &v1alpha1.LocalRef{Name: v1alpha1.CredentialsSecretName(server.Name)}
	}
	if seen.Records != nil {
		next.Children = children(seen.Records)
	}
	next.AttachedTeams = seen.Teams

	finding := status.Finding{
		Generation: server.Generation,
		Parts:      []status.Part{databaseReady(server, seen), availability(server, seen), bootstrapped(server, seen)},
	}
	if ending != nil {
		for i, part := range finding.Parts {
			if part.Type == ending.Condition {
				finding.Parts[i] = status.Of(ending)
			}
		}
		if ending.Stalled {
			finding.Stalled = ending
		}
		if ending.Condition == v1alpha1.ConditionDegraded {
			finding.Degraded = ending
		}
	}
	next.Conditions = status.Conditions(server.Status.Conditions, finding, now)
	return next
}

func databaseReady(server *v1alpha1.TerdutServer, seen Seen) status.Part {
	switch {
	case seen.Database == nil:
		return carried(server, status.Part{
			Type: v1alpha1.ConditionDatabaseReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonProgressing,
			Message: "the database was not looked at yet",
		})
	case serves(seen.Deployment):
		return status.True(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonConnected, "pods that use the database are ready")
	}
	return status.True(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonNotVerified,
		"database and password are named completely; no ready pod uses them yet")
}

func bootstrapped(server *v1alpha1.TerdutServer, seen Seen) status.Part {
	if seen.Identity != nil {
		message := fmt.Sprintf("the operator's key is in Secret %q", v1alpha1.CredentialsSecretName(server.Name))
		return status.True(v1alpha1.ConditionBootstrapped, seen.Identity.Reason, message)
	}
	return carried(server, status.Part{
		Type: v1alpha1.ConditionBootstrapped, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonWaitingForServer,
		Message: "waits until the server runs",
	})
}

// carried is the condition as it was before, or otherwise if there was none.
func carried(server *v1alpha1.TerdutServer, otherwise status.Part) status.Part {
	before := meta.FindStatusCondition(server.Status.Conditions, otherwise.Type)
	if before == nil {
		return otherwise
	}
	return status.Part{Type: before.Type, Status: before.Status, Reason: before.Reason, Message: before.Message}
}

// availability is the condition as it was before while the status of the
// Deployment tells of an older one and nobody has asked for another: a repair,
// or a field of somebody else's, makes no server unready.
func availability(server *v1alpha1.TerdutServer, seen Seen) status.Part {
	d := seen.Deployment
	now := available(d)
	settled := server.Status.ObservedGeneration == server.Generation
	if settled && d != nil && d.DeletionTimestamp == nil && d.Status.ObservedGeneration < d.Generation {
		return carried(server, now)
	}
	return now
}

// available tells from the status of the Deployment how far it is.
func available(d *appsv1.Deployment) status.Part {
	if d == nil {
		return unavailable(v1alpha1.ReasonRolloutInProgress, "the Deployment is not made yet")
	}
	want := ptr.Deref(d.Spec.Replicas, 1)
	pods := fmt.Sprintf("see kubectl -n %s describe pods -l %s=%s", d.Namespace, v1alpha1.LabelInstance, d.Name)
	switch {
	case d.DeletionTimestamp != nil:
		return unavailable(v1alpha1.ReasonRolloutInProgress, "the Deployment is being deleted; it is made again when it is gone")
	case d.Status.ObservedGeneration < d.Generation:
		return unavailable(v1alpha1.ReasonRolloutInProgress, "the Deployment has just been changed")
	case condition(d, appsv1.DeploymentReplicaFailure, corev1.ConditionTrue) != "":
		return unavailable(v1alpha1.ReasonPodNotReady, "pods cannot be made: %s", condition(d, appsv1.DeploymentReplicaFailure, corev1.ConditionTrue))
	case d.Status.AvailableReplicas >= want && rolledOut(d):
		return status.True(v1alpha1.ConditionAvailable, v1alpha1.ReasonAvailable, fmt.Sprintf("%d of %d pods are ready", d.Status.AvailableReplicas, want))
	case condition(d, appsv1.DeploymentProgressing, corev1.ConditionFalse) != "":
		return unavailable(v1alpha1.ReasonPodNotReady, "%d of %d pods are ready, and the rollout has run into its deadline: %s", d.Status.AvailableReplicas, want, pods)
	case !rolledOut(d):
		return unavailable(v1alpha1.ReasonRolloutInProgress, "%d of %d pods run the current settings", d.Status.UpdatedReplicas, want)
	case rollsOut(d):
		return unavailable(v1alpha1.ReasonRolloutInProgress, "%d of %d pods are ready", d.Status.AvailableReplicas, want)
	}
	return unavailable(v1alpha1.ReasonPodNotReady, "%d of %d pods are ready: %s", d.Status.AvailableReplicas, want, pods)
}

func unavailable(reason, format string, args ...any) status.Part {
	return status.Part{
		Type: v1alpha1.ConditionAvailable, Status: metav1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, args...),
	}
}

// condition is the message of a Deployment's condition that has this status, or
// empty.
func condition(d *appsv1.Deployment, of appsv1.DeploymentConditionType, in corev1.ConditionStatus) string {
	for i := range d.Status.Conditions {
		if c := &d.Status.Conditions[i]; c.Type == of && c.Status == in {
			return c.Message
		}
	}
	return ""
}

// rollsOut tells whether the Deployment is still within the time that its
// rollout may take.
func rollsOut(d *appsv1.Deployment) bool {
	return slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionTrue && c.Reason != "NewReplicaSetAvailable"
	})
}

// rolledOut tells whether all pods that there are, and as many as are wanted,
// run the current template.
func rolledOut(d *appsv1.Deployment) bool {
	return d.Status.ObservedGeneration >= d.Generation &&
		d.Status.UpdatedReplicas == d.Status.Replicas &&
		d.Status.UpdatedReplicas >= ptr.Deref(d.Spec.Replicas, 1)
}

// serves tells whether a request reaches a pod with the current settings, and
// no other: a pod of an earlier generation may be on another database.
func serves(d *appsv1.Deployment) bool {
	return d != nil && d.DeletionTimestamp == nil && rolledOut(d) && d.Status.ReadyReplicas > 0
}

func children(records []apply.Record) []v1alpha1.ChildRecord {
	out := make([]v1alpha1.ChildRecord, 0, len(records))
	for _, r := range records {
		out = append(out, v1alpha1.ChildRecord{Kind: r.Kind, Name: r.Name, UID: r.UID, Intent: r.Intent})
	}
	return out
}

func records(children []v1alpha1.ChildRecord) []apply.Record {
	out := make([]apply.Record, 0, len(children))
	for _, c := range children {
		out = append(out, apply.Record{Kind: c.Kind, Name: c.Name, UID: c.UID, Intent: c.Intent})
	}
	return out
}
