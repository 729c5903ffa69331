package server

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
)

const (
	// rolloutPause is the time between two looks at pods that are not ready.
	// They are not watched: a cluster has far more pods than servers.
	rolloutPause = 15 * time.Second
	// maxPods is how many pods of a server are looked at.
	maxPods = 50
	// maxForeign is how much of a text that somebody else wrote is repeated.
	maxForeign = 200
)

// pods are those of a Deployment that does not run as it should; nil when it
// does, or when its status is of an earlier template. They are read live.
func (r *Reconciler) pods(ctx context.Context, d *appsv1.Deployment) ([]corev1.Pod, error) {
	if d == nil || d.Status.ObservedGeneration < d.Generation || available(d, nil).Status == metav1.ConditionTrue {
		return nil, nil
	}
	return r.podsOf(ctx, d)
}

// podsOf are the pods of a Deployment, read live.
func (r *Reconciler) podsOf(ctx context.Context, d *appsv1.Deployment) ([]corev1.Pod, error) {
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("read the selector of Deployment %s: %w", client.ObjectKeyFromObject(d), err)
	}
	list := &corev1.PodList{}
	err = r.Live.List(ctx, list, client.InNamespace(d.Namespace), client.MatchingLabelsSelector{Selector: selector}, client.Limit(maxPods))
	if err != nil {
		return nil, fmt.Errorf("list the pods of Deployment %s: %w", client.ObjectKeyFromObject(d), err)
	}
	return list.Items, nil
}

// availability is the condition as it was before while the status of the
// Deployment tells of an older one and nobody has asked for another: a repair,
// or a field of somebody else's, makes no server unready. A Deployment that was
// made again tells of none, and its pods went with the one before.
func availability(server *v1alpha1.TerdutServer, seen Seen) status.Part {
	if server.Spec.External != nil {
		return reached(server, seen)
	}
	d := seen.Deployment
	now := available(d, seen.Pods)
	settled := server.Status.ObservedGeneration == server.Generation
	behind := d != nil && d.Status.ObservedGeneration > 0 && d.Status.ObservedGeneration < d.Generation
	if settled && behind && d.DeletionTimestamp == nil {
		return carried(server, now)
	}
	return now
}

// available tells from the Deployment how far it is, and from its pods what
// keeps it.
func available(d *appsv1.Deployment, pods []corev1.Pod) status.Part {
	if d == nil {
		return unavailable(v1alpha1.ReasonRolloutInProgress, "the Deployment is not made yet")
	}
	want := ptr.Deref(d.Spec.Replicas, 1)
	refusal := condition(d, appsv1.DeploymentReplicaFailure, corev1.ConditionTrue)
	switch {
	case d.DeletionTimestamp != nil:
		return unavailable(v1alpha1.ReasonRolloutInProgress, "the Deployment is being deleted; it is made again when it is gone")
	case d.Status.ObservedGeneration < d.Generation:
		return unavailable(v1alpha1.ReasonRolloutInProgress, "the Deployment has just been changed")
	case refusal != "":
		return refused(refusal)
	case d.Status.AvailableReplicas >= want && rolledOut(d):
		return status.True(v1alpha1.ConditionAvailable, v1alpha1.ReasonAvailable, fmt.Sprintf("%d of %d pods are ready", d.Status.AvailableReplicas, want))
	}
	if found := worst(pods); found != nil {
		return unavailable(found.reason, "%s", found.message)
	}
	return underWay(d, want)
}

// underWay is about a rollout in which no pod tells what is wrong.
func underWay(d *appsv1.Deployment, want int32) status.Part {
	pods := fmt.Sprintf("see kubectl -n %s describe pods -l %s", d.Namespace, metav1.FormatLabelSelector(d.Spec.Selector))
	switch {
	case condition(d, appsv1.DeploymentProgressing, corev1.ConditionFalse) != "":
		return unavailable(v1alpha1.ReasonPodNotReady, "%d of %d pods are ready, and the rollout has run into its deadline: %s", d.Status.AvailableReplicas, want, pods)
	case d.Status.UpdatedReplicas < want:
		return unavailable(v1alpha1.ReasonRolloutInProgress, "%d of %d pods updated", d.Status.UpdatedReplicas, want)
	case !rolledOut(d):
		return unavailable(v1alpha1.ReasonRolloutInProgress, "%d of %d pods updated; pods of before are still ending", d.Status.UpdatedReplicas, want)
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

// podName begins the message of a refusal. It is another one at each try.
var podName = regexp.MustCompile(`^pods "[^"]*" is forbidden: `)

// refused is about pods that the API server does not let the Deployment make.
func refused(message string) status.Part {
	message = podName.ReplaceAllString(message, "")
	if strings.Contains(message, "exceeded quota") || strings.Contains(message, "failed quota") {
		return unavailable(v1alpha1.ReasonQuotaExceeded, "a quota of the namespace does not admit the pods: %s", foreign(message))
	}
	return unavailable(v1alpha1.ReasonPodsRefused, "the cluster does not admit the pods: %s", foreign(message))
}

// trouble is what keeps a pod from being ready.
type trouble struct {
	// rank orders troubles: a person should look at the first one first.
	rank            int
	reason, message string
}

// worst is the trouble to tell, nil when no pod has one.
func worst(pods []corev1.Pod) *trouble {
	var found []*trouble
	for i := range pods {
		if t := troubleOf(&pods[i]); t != nil && pods[i].DeletionTimestamp == nil {
			found = append(found, t)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return slices.MinFunc(found, func(a, b *trouble) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.message, b.message))
	})
}

func troubleOf(pod *corev1.Pod) *trouble {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if t := containerTrouble(pod, &list[i]); t != nil {
				return t
			}
		}
	}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return &trouble{3, v1alpha1.ReasonUnschedulable, fmt.Sprintf("no node takes pod %s: %s", pod.Name, foreign(c.Message))}
		}
	}
	return nil
}

// containerTrouble reads the state that a kubelet wrote. What a registry said
// is left out: it may hold an address that is signed.
func containerTrouble(pod *corev1.Pod, s *corev1.ContainerStatus) *trouble {
	reason, message := "", ""
	if s.State.Waiting != nil {
		reason, message = s.State.Waiting.Reason, s.State.Waiting.Message
	}
	switch reason {
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		return &trouble{0, v1alpha1.ReasonPodConfigInvalid, fmt.Sprintf("container %s of pod %s cannot be made: %s", s.Name, pod.Name, foreign(message))}
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed":
		return &trouble{1, v1alpha1.ReasonImagePullFailed, fmt.Sprintf(
			"image %s cannot be pulled: check spec.image and spec.imagePullSecrets, and see kubectl -n %s describe pod %s", imageOf(pod, s), pod.Namespace, pod.Name)}
	}
	// Between two crashes it may be running, or have ended just now.
	last := cmp.Or(s.State.Terminated, s.LastTerminationState.Terminated)
	if s.Ready || s.RestartCount == 0 || last == nil || last.ExitCode == 0 {
		return nil
	}
	how := fmt.Sprintf("exit code %d", last.ExitCode)
	if last.Reason != "" && last.Reason != "Error" {
		how += " (" + foreign(last.Reason) + ")"
	}
	return &trouble{2, v1alpha1.ReasonCrashLooping, fmt.Sprintf(
		"container %s of pod %s ends with %s again and again: see kubectl -n %s logs %s --previous", s.Name, pod.Name, how, pod.Namespace, pod.Name)}
}

// imageOf is the image that was asked for; the status may have another name of
// it.
func imageOf(pod *corev1.Pod, s *corev1.ContainerStatus) string {
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == s.Name {
				return list[i].Image
			}
		}
	}
	return s.Image
}

// foreign cuts a text that somebody else wrote, and keeps it on one line.
func foreign(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > maxForeign {
		return string(runes[:maxForeign-1]) + "…"
	}
	return string(runes)
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
