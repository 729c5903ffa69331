package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/consent"
)

// Tenants is what the namespaces of teams have got, without what is in it.
type Tenants struct {
	// Mirrors are the namespaces that hold a copy of the operator's key now.
	Mirrors []string
	// Refused are those where a Secret of somebody else stands in the way, and
	// Failed those where the API server does not take the copy.
	Refused, Failed []string
}

// wantedMirrors are the namespaces that are to hold a copy of the operator's
// key: those in which a permitted team refers to the server now. The server's
// own namespace has the original. A namespace that is going gets nothing any
// more. Namespaces are read from a reader, where they may be watched.
func (r *Reconciler) wantedMirrors(
	ctx context.Context, from client.Reader, server *v1alpha1.TerdutServer, teams []v1alpha1.TerdutTeam,
) ([]string, error) {
	if effectiveMode(server, issued(teams)) != v1alpha1.CredentialsMirrored {
		return nil, nil
	}
	asked, wanted := map[string]bool{server.Namespace: true}, []string(nil)
	for i := range teams {
		team := &teams[i]
		if team.DeletionTimestamp != nil || asked[team.Namespace] {
			continue
		}
		asked[team.Namespace] = true
		is, err := r.wantsMirror(ctx, from, server, team.Namespace)
		if err != nil {
			return nil, err
		}
		if is {
			wanted = append(wanted, team.Namespace)
		}
	}
	slices.Sort(wanted)
	return wanted, nil
}

// wantsMirror tells whether a namespace with a team is to hold a copy.
func (r *Reconciler) wantsMirror(ctx context.Context, from client.Reader, server *v1alpha1.TerdutServer, namespace string) (bool, error) {
	ns, err := r.Scope.Namespace(ctx, from, r.Live, namespace)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case apierrors.IsForbidden(err) && !r.Scope.Whole():
		// Whoever administers a namespace can take the operator's Role there
		// away. What labels would tell stays as it was then, so that the server
		// goes on; what the spec alone tells does not.
		if !consent.NeedsLabels(namespace, server) {
			return consent.Evaluate(namespace, server, nil), nil
		}
		known := server.Status.Credentials
		return known != nil && slices.Contains(known.MirrorNamespaces, namespace), nil
	case err != nil:
		return false, fmt.Errorf("read Namespace %q: %w", namespace, err)
	}
	return ns.DeletionTimestamp == nil && consent.Evaluate(namespace, server, ns.Labels), nil
}

// mirrors are the copies that there are, from the cache, by namespace.
func (r *Reconciler) mirrors(ctx context.Context, server *v1alpha1.TerdutServer) (map[string]*corev1.Secret, error) {
	list := &corev1.SecretList{}
	if err := r.Client.List(ctx, list, client.MatchingLabels(mirrorLabels(server.Name))); err != nil {
		return nil, fmt.Errorf("list the copies of the key of TerdutServer %s: %w", client.ObjectKeyFromObject(server), err)
	}
	found := map[string]*corev1.Secret{}
	for i := range list.Items {
		if isMirror(&list.Items[i], server) {
			found[list.Items[i].Namespace] = &list.Items[i]
		}
	}
	return found, nil
}

func mirrorLabels(server string) map[string]string {
	out := labels(server)
	out[v1alpha1.LabelCredentials] = v1alpha1.CredentialsMirror
	return out
}

// isMirror tells a copy of ours from a Secret of somebody else: it bears the
// name, our labels, and the name of its server. Whoever forges all of that risks
// only a Secret of their own namespace.
func isMirror(secret *corev1.Secret, server *v1alpha1.TerdutServer) bool {
	for of, value := range mirrorLabels(server.Name) {
		if secret.Labels[of] != value {
			return false
		}
	}
	return secret.Name == v1alpha1.MirrorSecretName(server.Name, server.Namespace) &&
		secret.Namespace != server.Namespace &&
		secret.Annotations[v1alpha1.AnnotationMirrorOf] == client.ObjectKeyFromObject(server).String()
}

// mirror is a copy of a key as it should be.
func mirror(server *v1alpha1.TerdutServer, c *credential) apply.SecretIntent {
	intent := apply.SecretIntent{
		Name:        v1alpha1.MirrorSecretName(server.Name, server.Namespace),
		Labels:      mirrorLabels(server.Name),
		Annotations: map[string]string{v1alpha1.AnnotationMirrorOf: client.ObjectKeyFromObject(server).String()},
		Data: map[string][]byte{
			v1alpha1.CredentialsKey:            []byte(c.key),
			v1alpha1.CredentialsURLKey:         []byte(connect.PublicURL(server)),
			v1alpha1.CredentialsInternalURLKey: []byte(connect.BaseURL(server)),
		},
	}
	if c.keyID != 0 {
		intent.Annotations[v1alpha1.AnnotationKeyID] = strconv.FormatInt(c.keyID, 10)
	}
	return intent
}

// grant gives the namespaces of teams what they are to have.
func (r *Reconciler) grant(ctx context.Context, server *v1alpha1.TerdutServer, wanted []string) (*Tenants, error) {
	if len(wanted) == 0 {
		return &Tenants{}, nil
	}
	c := r.memory.accepted(server).credential
	if c.key == "" {
		return nil, nil // nothing to copy: the cache alone has told that there is a key
	}
	return r.writeMirrors(ctx, server, &c, wanted)
}

// publishMirrors writes the key to every copy and returns the Secrets that
// could not be written: until they are, the key before stays valid. A cache that
// does not show for whom a copy is proves nothing: who is to lose one has lost it
// before.
func (r *Reconciler) publishMirrors(ctx context.Context, server *v1alpha1.TerdutServer, c *credential) ([]string, error) {
	teams, err := r.teams(ctx, server)
	if err != nil {
		return nil, err
	}
	wanted, err := r.wantedMirrors(ctx, r.Client, server, teams)
	if err != nil {
		return nil, err
	}
	spared := slices.Concat(wanted, r.unwatched(server).Mirrors)
	for _, namespace := range copyHolders(server, nil) {
		if !slices.Contains(spared, namespace) {
			return nil, lookAgainAtMirror(server, namespace, "the cache does not show for whom it is")
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	done, err := r.writeMirrors(ctx, server, c, wanted)
	if err != nil {
		return nil, err
	}
	missing := make([]string, 0, len(done.Failed))
	for _, namespace := range done.Failed {
		missing = append(missing, namespace+"/"+v1alpha1.MirrorSecretName(server.Name, server.Namespace))
	}
	return missing, nil
}

// writeMirrors writes a copy into each of the namespaces. What fails in one
// holds up no other.
func (r *Reconciler) writeMirrors(ctx context.Context, server *v1alpha1.TerdutServer, c *credential, wanted []string) (*Tenants, error) {
	found, err := r.mirrors(ctx, server)
	if err != nil {
		return nil, err
	}
	done := &Tenants{}
	for _, namespace := range wanted {
		err := r.writeMirror(ctx, server, c, namespace, found[namespace])
		switch {
		case err == nil:
			done.Mirrors = append(done.Mirrors, namespace)
		case errors.Is(err, errForeignMirror):
			done.Refused = append(done.Refused, namespace)
		case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), errors.Is(err, errUnwanted):
			// It gets nothing any more, and needs nothing.
		case apply.IsLookAgain(err), aboutThis(err):
			done.Failed = append(done.Failed, namespace)
		default:
			return nil, err
		}
	}
	r.tellRefused(server, done)
	return done, nil
}

// aboutThis tells a refusal of one write, such as that of a quota, from an API
// server that fails.
func aboutThis(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && (aboutRequest(answer.Status().Code) || answer.Status().Code == 404)
}

// errForeignMirror: a Secret of somebody else bears the name of a copy.
var errForeignMirror = errors.New("the Secret belongs to somebody else")

// writeMirror writes one copy, of exactly the version that was read. It is no
// request when the cached one is as it should be.
func (r *Reconciler) writeMirror(ctx context.Context, server *v1alpha1.TerdutServer, c *credential, namespace string, cached *corev1.Secret) error {
	intent := mirror(server, c)
	live := cached
	if live == nil {
		var err error
		if live, err = r.Engine.ReadSecret(ctx, namespace, intent.Name); err != nil {
			return err
		}
		if live != nil && !isMirror(live, server) {
			return errForeignMirror
		}
	}
	if live == nil {
		if err := r.proveWanted(ctx, server, namespace); err != nil {
			return err
		}
	}
	if _, err := r.Engine.ApplySecretAt(ctx, namespace, live, intent); err != nil {
		return err
	}
	if live == nil {
		status.Emit(r.Recorder, server, status.Event{
			Warning: true, Reason: v1alpha1.EventMirrored,
			Message: fmt.Sprintf("copied the operator's key to Secret %s/%s: whoever reads it is an administrator of the whole server", namespace, intent.Name),
		})
	}
	return nil
}

// tellRefused makes an Event of each namespace that is refused, once.
func (r *Reconciler) tellRefused(server *v1alpha1.TerdutServer, done *Tenants) {
	for _, namespace := range done.Mirrors {
		r.refusals.Delete(refusal{server.UID, namespace})
	}
	for _, namespace := range done.Refused {
		if _, told := r.refusals.LoadOrStore(refusal{server.UID, namespace}, true); !told {
			status.Emit(r.Recorder, server, status.Event{
				Warning: true, Reason: v1alpha1.ReasonMirrorRefused,
				Message: fmt.Sprintf("Secret %q in namespace %q belongs to somebody else and is left alone: rename or delete it, so that the copy of the key can go there",
					v1alpha1.MirrorSecretName(server.Name, server.Namespace), namespace),
			})
		}
	}
}
