// Package sides compares the two sides of an installation: what Kubernetes says, in the specs and statuses of all custom
// resources, and what each server says through its own API. They agree only if every object is there once, with the
// identity that is recorded and the content that is asked for, and nothing else is there.
package sides

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// Cluster is the Kubernetes side, and a way to the servers: HTTP reaches http://<service>.<namespace>.svc:<port>.
type Cluster struct {
	Kube client.Client
	HTTP *http.Client
	// Refused are namespaces whose consent was taken away: what lives in them must say so, and must still be there.
	Refused []string
}

// Compared counts what agreed.
type Compared struct {
	// Resources are custom resources, Objects what servers hold.
	Resources, Objects int
}

// String is the counts in words.
func (c Compared) String() string {
	return fmt.Sprintf("%d custom resources and %d objects on servers agree", c.Resources, c.Objects)
}

// resources are all custom resources of the cluster.
type resources struct {
	servers  []v1alpha1.TerdutServer
	teams    []v1alpha1.TerdutTeam
	rules    []v1alpha1.TerdutEscalationRule
	switches []v1alpha1.TerdutDeadmanSwitch
	sources  []v1alpha1.TerdutAlertSource
}

func (c Cluster) read(ctx context.Context) (resources, error) {
	var (
		servers  v1alpha1.TerdutServerList
		teams    v1alpha1.TerdutTeamList
		rules    v1alpha1.TerdutEscalationRuleList
		switches v1alpha1.TerdutDeadmanSwitchList
		sources  v1alpha1.TerdutAlertSourceList
	)
	for _, list := range []client.ObjectList{&servers, &teams, &rules, &switches, &sources} {
		err := c.Kube.List(ctx, list)
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			continue // without a definition there are none
		}
		if err != nil {
			return resources{}, fmt.Errorf("list custom resources: %w", err)
		}
	}
	return resources{servers.Items, teams.Items, rules.Items, switches.Items, sources.Items}, nil
}

// Compare returns an error that names every difference.
func (c Cluster) Compare(ctx context.Context) (Compared, error) {
	all, err := c.read(ctx)
	if err != nil {
		return Compared{}, err
	}
	done := Compared{
		Resources: len(all.servers) + len(all.teams) + len(all.rules) + len(all.switches) + len(all.sources),
	}
	failed := c.statuses(all)
	for i := range all.servers {
		counted, compareErr := c.server(ctx, &all.servers[i], all)
		done.Objects += counted
		if compareErr != nil {
			failed = errors.Join(failed, fmt.Errorf("TerdutServer %s/%s: %w", all.servers[i].Namespace, all.servers[i].Name, compareErr))
		}
	}
	return done, failed
}

// statuses complains about what is not Ready, or not refused where it should be.
func (c Cluster) statuses(all resources) error {
	var failed error
	look := func(kind string, obj client.Object, observed int64, conditions []metav1.Condition) {
		failed = errors.Join(failed, c.status(kind, obj, observed, conditions))
	}
	for i := range all.servers {
		look("TerdutServer", &all.servers[i], all.servers[i].Status.ObservedGeneration, all.servers[i].Status.Conditions)
	}
	for i := range all.teams {
		look("TerdutTeam", &all.teams[i], all.teams[i].Status.ObservedGeneration, all.teams[i].Status.Conditions)
	}
	for i := range all.rules {
		look("TerdutEscalationRule", &all.rules[i], all.rules[i].Status.ObservedGeneration, all.rules[i].Status.Conditions)
	}
	for i := range all.switches {
		look("TerdutDeadmanSwitch", &all.switches[i], all.switches[i].Status.ObservedGeneration, all.switches[i].Status.Conditions)
	}
	for i := range all.sources {
		look("TerdutAlertSource", &all.sources[i], all.sources[i].Status.ObservedGeneration, all.sources[i].Status.Conditions)
	}
	return failed
}

func (c Cluster) status(kind string, obj client.Object, observed int64, conditions []metav1.Condition) error {
	who := fmt.Sprintf("%s %s/%s", kind, obj.GetNamespace(), obj.GetName())
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	switch {
	case ready == nil:
		return fmt.Errorf("%s has no condition Ready", who)
	case slices.Contains(c.Refused, obj.GetNamespace()):
		if ready.Status == metav1.ConditionTrue || ready.Reason != v1alpha1.ReasonRefNotPermitted {
			return fmt.Errorf("%s is not refused: Ready=%s, %s: %s", who, ready.Status, ready.Reason, ready.Message)
		}
	case ready.Status != metav1.ConditionTrue:
		return fmt.Errorf("%s is not ready: %s: %s", who, ready.Reason, ready.Message)
	case observed != obj.GetGeneration():
		return fmt.Errorf("%s: generation %d is applied, want %d", who, observed, obj.GetGeneration())
	}
	return nil
}

// API is the client for a server, with the operator's own key.
func (c Cluster) API(ctx context.Context, namespace, name string) (*terdutapi.Client, error) {
	server := &v1alpha1.TerdutServer{}
	if err := c.Kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, server); err != nil {
		return nil, fmt.Errorf("read TerdutServer %s/%s: %w", namespace, name, err)
	}
	return c.with(ctx, server, namespace, v1alpha1.CredentialsSecretName(name))
}

// with is the client for a server, with the key of a Secret.
func (c Cluster) with(ctx context.Context, server *v1alpha1.TerdutServer, namespace, name string) (*terdutapi.Client, error) {
	secret := &corev1.Secret{}
	if err := c.Kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret); err != nil {
		return nil, fmt.Errorf("read Secret %s/%s: %w", namespace, name, err)
	}
	return c.Client(Address(server), string(secret.Data[v1alpha1.CredentialsKey]))
}

// Client is the client for a server at an address, with a key, which may be empty.
func (c Cluster) Client(address, key string) (*terdutapi.Client, error) {
	api, err := terdutapi.New(address, terdutapi.WithHTTPClient(c.HTTP), terdutapi.WithAPIKey(strings.TrimSpace(key)))
	if err != nil {
		return nil, fmt.Errorf("open the API at %s: %w", address, err)
	}
	return api, nil
}

// Address is where a server's Service is.
func Address(server *v1alpha1.TerdutServer) string {
	return fmt.Sprintf("http://%s.%s.svc:%d", server.Name, server.Namespace, server.Spec.Networking.ServicePort)
}
