package server

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/consent"
)

// Seen is what a pass found out, as far as it came.
type Seen struct {
	// Database is nil when it was not resolved.
	Database *Database
	// Deployment is nil when there is none.
	Deployment *appsv1.Deployment
	// Pods of the Deployment, when it does not run as it should.
	Pods []corev1.Pod
	// Route is nil when none is wanted, and when it was not looked at.
	Route *Route
	// Fields is nil when the pass did not come to the children.
	Fields *Fields
	// Records of the children; nil when the pass did not come to them.
	Records []apply.Record
	// Converged is true when every child is as this generation wants it.
	Converged bool
	// Reached is true when an external server has answered.
	Reached bool
	// Identity is nil when the operator has no accepted key, or the pass did
	// not come to it.
	Identity *Identity
	// Running are the pods that run, as <pod>/<restarts>, when the password has
	// changed.
	Running []string
	// Teams is the number of attached teams, and KeysIssued tells whether one
	// of them holds a key of its own.
	Teams      int32
	KeysIssued bool
	// Tenants is nil when the pass did not come to what they get.
	Tenants *Tenants
	// Claims is nil when the pass did not look for them.
	Claims *Claims
	// Unwatched is what concerns the server and is not to be seen.
	Unwatched Unwatched
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
	if server.Spec.External != nil {
		next.ServiceName = ""
	}
	if seen.Converged && seen.Identity != nil && routed(server, seen) {
		next.ObservedGeneration = server.Generation
	}
	if seen.Identity != nil {
		next.OperatorCredentialsSecretRef = &v1alpha1.LocalRef{Name: v1alpha1.CredentialsSecretName(server.Name)}
	}
	if seen.Records != nil {
		next.Children = children(seen.Records)
	}
	next.AttachedTeams, next.Reconciled = seen.Teams, reconciled(server, ending)
	next.Database = databaseStatus(server, &seen)
	next.Credentials = credentialsStatus(server, seen)

	next.Conditions = status.Conditions(server.Status.Conditions, findingOf(server, seen, &next, ending), now)
	return next
}

// findingOf is what the conditions are made of; next is the status as far as it
// is known.
func findingOf(server *v1alpha1.TerdutServer, seen Seen, next *v1alpha1.TerdutServerStatus, ending *outcome.Ending) status.Finding {
	finding := status.Finding{
		Generation: server.Generation,
		Parts:      []status.Part{databaseReady(server, seen, next.Database), availability(server, seen), bootstrapped(server, seen)},
	}
	finding.Parts = append(finding.Parts, routeReady(server, seen)...)
	finding.Parts = append(finding.Parts, fieldParts(server, seen)...)
	finding.Parts = append(finding.Parts, tenantParts(server, seen, next.Credentials)...)
	finding.Parts = append(finding.Parts, seen.Unwatched.parts()...)
	finding.Parts = append(finding.Parts, claimParts(server, seen.Claims)...)
	if ending == nil {
		finding.Stalled = unreadable(server)
		return finding
	}
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
	return finding
}

// unreadable is for the server's owner where its consent cannot be read: all that
// tenants learn is that they have none.
func unreadable(server *v1alpha1.TerdutServer) *outcome.Ending {
	err := consent.Unreadable(server)
	if err == nil {
		return nil
	}
	return outcome.Refused("", v1alpha1.ReasonInvalid,
		"spec.allowedTeams.namespaces.selector admits nobody, since it cannot be read (%v): correct it", err)
}

func databaseReady(server *v1alpha1.TerdutServer, seen Seen, password *v1alpha1.ServerDatabaseStatus) status.Part {
	switch {
	case server.Spec.External != nil:
		return status.True(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonExternal, "the database of an external server is not the operator's business")
	case seen.Database == nil:
		return carried(server, status.Part{
			Type: v1alpha1.ConditionDatabaseReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonProgressing,
			Message: "the database was not looked at yet",
		})
	case password != nil && len(password.OutdatedPods) > 0:
		return status.True(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonNotVerified, fmt.Sprintf(
			"the password in Secret %q has changed since the pods that run have started: %s", password.PasswordSecretRef.Name, restartHint(server)))
	case serves(seen.Deployment):
		return status.True(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonConnected, "pods that use the database are ready")
	}
	return status.True(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonNotVerified,
		"database and password are named completely; no ready pod uses them yet")
}

func bootstrapped(server *v1alpha1.TerdutServer, seen Seen) status.Part {
	if seen.Identity != nil {
		message := fmt.Sprintf("the operator's key is in Secret %q", v1alpha1.CredentialsSecretName(server.Name))
		if seen.Identity.Reason == v1alpha1.ReasonSharedIdentity {
			message += "; it is the very key that was given, since the operator cannot make one of its own"
		}
		if seen.Identity.Note != "" {
			message += "; " + seen.Identity.Note
		}
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
