package transitions_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// looked are the kinds that an outcome is made of.
var looked = append([]schema.GroupVersionKind{
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Version: "v1", Kind: "Service"},
	{Version: "v1", Kind: "Secret"},
	{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"},
}, ours()...)

func ours() []schema.GroupVersionKind {
	var out []schema.GroupVersionKind
	for _, kind := range kinds {
		out = append(out, v1alpha1.SchemeGroupVersion.WithKind(kind))
	}
	return out
}

// seenNow tells why the operator has not answered the spec that is there now;
// empty when it has.
func (w *world) seenNow(ctx context.Context) string {
	object := w.object(fields{})
	if err := seen.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return err.Error()
	}
	if now := object.GetGeneration(); now < w.generation {
		return "the watch has not shown this spec yet"
	} else if now > max(w.generation, 1) {
		return fmt.Sprintf("the spec is of generation %d, and was changed here up to %d only", now, w.generation)
	}
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return err.Error()
	}
	for _, c := range conditions {
		if c := c.(fields); c["type"] == v1alpha1.ConditionReady && c["observedGeneration"] == object.GetGeneration() {
			return ""
		}
	}
	return "the operator has not answered this spec"
}

// outcome is all that can be seen of a world, without what is another in each:
// names of namespaces, identities, times and values of Secrets.
func (w *world) outcome(ctx context.Context) ([]string, error) {
	remote, err := w.lines(fields{"server": w.remote()})
	if err != nil {
		return nil, err
	}
	cluster, err := w.view.of(ctx, w)
	return append(remote, cluster...), err
}

// view keeps what a world looked like on the API server when there were so many
// news of it.
type view struct {
	mu    sync.Mutex
	lines []string
	at    int64
	// rested is how much was written until the world was last seen at rest, and
	// one; 0 before that.
	rested atomic.Int64
}

func (v *view) of(ctx context.Context, w *world) ([]string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := w.seenOf() // before the look: what comes meanwhile leads to another one
	if v.lines != nil && v.at == now {
		return v.lines, nil
	}
	all, err := w.cluster(ctx)
	if err != nil {
		return nil, err
	}
	if v.lines, err = w.lines(all); err != nil {
		return nil, err
	}
	v.at = now
	return v.lines, nil
}

// cluster is what there is of a world on the API server.
func (w *world) cluster(ctx context.Context) (fields, error) {
	all := fields{}
	for _, gvk := range looked {
		for place, namespace := range map[string]string{"platform": w.platform, "tenant": w.tenant} {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
			if err := seen.List(ctx, list, client.InNamespace(namespace)); err != nil {
				return nil, fmt.Errorf("list %s: %w", gvk.Kind, err)
			}
			for i := range list.Items {
				o := &list.Items[i]
				if gvk.Kind == "Secret" && o.GetLabels()[v1alpha1.LabelManagedBy] == "" {
					continue
				}
				name := strings.Join([]string{place, gvk.Kind, identity.ReplaceAllStringFunc(o.GetName(), unidentified)}, " ")
				for all[name] != nil {
					name += ", one more" // of those whose names differ by an identity only
				}
				all[name] = shape(o)
			}
		}
	}
	return all, nil
}

// shape is what counts of an object.
func shape(o *unstructured.Unstructured) fields {
	annotations := plainMap(o.GetAnnotations())
	delete(annotations, v1alpha1.AnnotationReconcile)
	delete(annotations, v1alpha1.AnnotationKeyName) // the server names the first key, and we name the later ones
	out := fields{"labels": o.GetLabels(), "annotations": mask(annotations), "finalizers": o.GetFinalizers()}
	for _, owner := range o.GetOwnerReferences() {
		out["owner"] = owner.Kind + " " + owner.Name
	}
	if o.GetDeletionTimestamp() != nil {
		out["going"] = true
	}
	if o.GroupVersionKind().Group == v1alpha1.SchemeGroupVersion.Group {
		status, _, _ := unstructured.NestedMap(o.Object, "status")
		if status["observedGeneration"] == o.GetGeneration() {
			status["observedGeneration"] = "this"
		}
		delete(status, "reconciled")
		generation(status, o.GetGeneration())
		out["status"] = mask(status)
		return out
	}
	if data, is := o.Object["data"].(fields); is {
		out["data"] = secret(data)
	}
	if spec, is := o.Object["spec"]; is {
		out["spec"] = mask(spec)
	}
	return out
}

func plainMap(in map[string]string) fields {
	out := fields{}
	for key, value := range in {
		out[key] = value
	}
	return out
}

// generation says of conditions whether they speak of the spec that is there now.
func generation(status fields, now int64) {
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		if c := c.(fields); c["observedGeneration"] == now {
			c["observedGeneration"] = "this"
		} else {
			c["observedGeneration"] = "an earlier one"
		}
		c := c.(fields)
		c["message"] = number.ReplaceAllString(fmt.Sprint(c["message"]), "#")
	}
	slices.SortFunc(conditions, func(a, b any) int {
		return cmp.Compare(fmt.Sprint(a.(fields)["type"]), fmt.Sprint(b.(fields)["type"]))
	})
}

var number = regexp.MustCompile(`\b[0-9]+\b`)

// secret shows what a Secret is made of; only addresses are shown themselves.
func secret(data fields) fields {
	out := fields{}
	for key, value := range data {
		out[key] = value != ""
		if key == v1alpha1.CredentialsURLKey || key == v1alpha1.CredentialsInternalURLKey {
			text, _ := base64.StdEncoding.DecodeString(fmt.Sprint(value))
			out[key] = pathID.ReplaceAllString(string(text), "/#")
		}
	}
	return out
}

var pathID = regexp.MustCompile(`/[0-9]+\b`)

// volatile are the names of fields that are another in each world.
var volatile = []string{
	"uid", "serverUID", "ownerUID", "createdAt", "lastTransitionTime", "intent", "id", "teamID", "integrationID", "switchID", "keyID", "userID",
	"accountID", "passwordHMAC", "revokeAfter", "deleteAfter", "clusterIP", "clusterIPs",
	v1alpha1.AnnotationKeyID, v1alpha1.AnnotationUserID, v1alpha1.AnnotationKeyIssued, v1alpha1.AnnotationIntegrationID, v1alpha1.AnnotationIntegrationCreatedAt,
	v1alpha1.AnnotationDatabasePassword, v1alpha1.AnnotationBootstrapAttempt,
}

// mask hides the values of volatile fields, but not whether there is one.
func mask(value any) any {
	switch value := value.(type) {
	case fields:
		for key, inside := range value {
			if value[key] = mask(inside); slices.Contains(volatile, key) {
				value[key] = "*"
			}
		}
	case []any:
		for i := range value {
			value[i] = mask(value[i])
		}
	}
	return value
}

// remote is what is on the server.
func (w *world) remote() fields {
	names, out := map[int64]string{}, fields{}
	users, accounts, keys := []any{}, []any{}, []any{}
	for _, u := range w.peer.Users() {
		names[u.ID] = u.Username
		users = append(users, u.Username)
	}
	for _, a := range w.peer.Accounts() {
		names[a.ID] = a.Name
		accounts = append(accounts, fmt.Sprintf("%s, of one team %v", a.Name, a.TeamID != 0))
	}
	for _, k := range w.peer.LiveKeys() {
		keys = append(keys, names[k.OwnerID])
	}
	for _, list := range [][]any{users, accounts, keys} {
		slices.SortFunc(list, func(a, b any) int { return cmp.Compare(a.(string), b.(string)) })
	}
	out["users"], out["accounts"], out["holders of keys"] = users, accounts, keys
	for _, t := range w.peer.Teams() {
		team := fields{"member": t.MemberGroup, "owner": t.OwnerGroup}
		policy := w.peer.Escalation(t.ID)
		team["repeat"], team["fallback"] = policy.RepeatCount, policy.FallbackTopic
		levels := []any{}
		for _, l := range policy.Levels {
			targets := []any{}
			for _, target := range l.Targets {
				targets = append(targets, cmp.Or(names[target.UserID], "oncall"))
			}
			levels = append(levels, fields{"timeout": l.Timeout.String(), "targets": targets})
		}
		team["levels"] = levels
		for _, s := range w.peer.Switches(t.ID) {
			team["switch "+s.Name] = fields{"matcher": s.Matcher, "timeout": s.Timeout.String(), "severity": s.Severity}
		}
		for _, i := range w.peer.Integrations(t.ID) {
			team["integration "+i.Name] = i.Kind
		}
		out["team "+t.Name] = team
	}
	return out
}
