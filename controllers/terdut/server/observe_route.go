package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
)

// Route is what a pass knows of the HTTPRoute that is wanted.
type Route struct {
	// Claimed is true when the server has an administrator. Before that a
	// route would offer that role to everybody.
	Claimed bool
	// Served is true when the cluster has the kind.
	Served bool
	// Object is the route after the pass; nil when there is none.
	Object *unstructured.Unstructured
}

// claimedReasons are those of a server that is not bootstrapped by the operator
// and has told that somebody else has done it.
var claimedReasons = []string{
	v1alpha1.ReasonAlreadyBootstrapped, v1alpha1.ReasonBootstrapKeyLost, v1alpha1.ReasonKeyNotUsable, v1alpha1.ReasonKeyNotAccepted,
}

// claimed tells from a status whether the server has an administrator, or had
// one when its route was made: what is rendered once stays.
func claimed(s *v1alpha1.TerdutServerStatus) bool {
	if slices.ContainsFunc(s.Children, func(c v1alpha1.ChildRecord) bool { return c.Kind == routeKind.Kind }) {
		return true
	}
	is := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionBootstrapped)
	return is != nil && (is.Status == metav1.ConditionTrue || slices.Contains(claimedReasons, is.Reason))
}

// route finds out whether an HTTPRoute can be made. It is nil when none is
// wanted, and when it is not known yet whether the kind is served: the pass is
// repeated when it is.
func (r *Reconciler) route(ctx context.Context, server *v1alpha1.TerdutServer) (*Route, error) {
	if listenerOf(&server.Spec) == nil {
		return nil, nil
	}
	route := &Route{Claimed: claimed(&server.Status), Served: r.Kinds.Served(routeKind)}
	if route.Served || !route.Claimed {
		return route, nil
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(routeKind)
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(server), object)
	switch {
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return route, nil
	case client.IgnoreNotFound(err) != nil:
		return nil, fmt.Errorf("read HTTPRoute %s: %w", client.ObjectKeyFromObject(server), err)
	}
	return nil, nil
}

// routed tells whether the route stands as this generation wants it.
func routed(server *v1alpha1.TerdutServer, seen Seen) bool {
	return listenerOf(&server.Spec) == nil || seen.Route != nil && seen.Route.Object != nil
}

// routeReady tells how far the route is; nil when none is wanted.
func routeReady(server *v1alpha1.TerdutServer, seen Seen) []status.Part {
	to := listenerOf(&server.Spec)
	if to == nil {
		return nil
	}
	is := func(reason, format string, args ...any) []status.Part {
		return []status.Part{{
			Type: v1alpha1.ConditionRouteReady, Status: metav1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, args...),
		}}
	}
	switch route := seen.Route; {
	case route == nil:
		return []status.Part{carried(server, is(v1alpha1.ReasonProgressing, "the route was not looked at yet")[0])}
	case !route.Claimed:
		return is(v1alpha1.ReasonWaitingForServer,
			"the HTTPRoute is made once the server has an administrator: an empty server gives that role to the first caller")
	case !route.Served:
		return is(v1alpha1.ReasonCRDNotInstalled,
			"networking.gatewayListener needs the kind HTTPRoute of gateway.networking.k8s.io/v1, which this cluster does not serve: install the Gateway API, or clear the field")
	case route.Object == nil:
		return is(v1alpha1.ReasonProgressing, "the HTTPRoute is not made yet")
	default:
		trouble := refusalOf(route.Object, to)
		if trouble == "" {
			return []status.Part{status.True(v1alpha1.ConditionRouteReady, v1alpha1.ReasonRouteAccepted,
				fmt.Sprintf("%s routes %s to the server", to, server.Spec.Networking.Hostname))}
		}
		return is(v1alpha1.ReasonRouteNotAccepted, "%s", trouble)
	}
}

// routeStatus is what is read of the status of an HTTPRoute.
type routeStatus struct {
	Status struct {
		Parents []struct {
			ControllerName string             `json:"controllerName"`
			Conditions     []metav1.Condition `json:"conditions"`
		} `json:"parents"`
	} `json:"status"`
}

// refusalOf is why the listener does not route; empty when it does.
func refusalOf(object *unstructured.Unstructured, to *listener) string {
	is := routeStatus{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &is); err != nil || len(is.Status.Parents) == 0 {
		return fmt.Sprintf("no controller has taken the HTTPRoute yet: check that %s exists and that its controller runs", to)
	}
	var refusals []string
	for i := range is.Status.Parents {
		parent := &is.Status.Parents[i]
		refusal := ""
		for _, want := range []string{"Accepted", "ResolvedRefs"} {
			c := meta.FindStatusCondition(parent.Conditions, want)
			switch {
			case c == nil || c.ObservedGeneration < object.GetGeneration():
				refusal = fmt.Sprintf("%s has not told %s of the current HTTPRoute yet", foreign(parent.ControllerName), want)
			case c.Status != metav1.ConditionTrue:
				refusal = fmt.Sprintf("%s does not route by %s: %s", foreign(parent.ControllerName), to, foreign(c.Reason+": "+c.Message))
			}
			if refusal != "" {
				break
			}
		}
		if refusal == "" {
			return ""
		}
		refusals = append(refusals, refusal)
	}
	return strings.Join(refusals, "; ")
}
