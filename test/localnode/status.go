package localnode

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// status is the status of pod as a kubelet would write it now.
func (w *worker) status(pod *corev1.Pod) corev1.PodStatus {
	views := make([]view, len(w.containers))
	for i, c := range w.containers {
		views[i] = c.snapshot()
	}
	s := statusWriter{pod: pod, now: metav1.Now().Rfc3339Copy(), inits: views[:w.inits], mains: views[w.inits:]}
	return s.write(w.address, w.started)
}

// statusWriter makes a pod's status of what its containers do. It is pure: the same input gives the same output.
type statusWriter struct {
	pod          *corev1.Pod
	now          metav1.Time
	inits, mains []view
}

func (s *statusWriter) write(address string, started metav1.Time) corev1.PodStatus {
	// What others write (the class of service, conditions of readiness gates) stays.
	status := *s.pod.Status.DeepCopy()
	if status.Phase == corev1.PodSucceeded || status.Phase == corev1.PodFailed {
		return status
	}
	status.ObservedGeneration = s.pod.Generation
	status.StartTime = &started
	status.HostIP, status.HostIPs = nodeAddress, []corev1.HostIP{{IP: nodeAddress}}
	status.PodIP, status.PodIPs = address, []corev1.PodIP{{IP: address}}
	status.InitContainerStatuses = containerStatuses(s.inits, "PodInitializing")
	waiting := "ContainerCreating"
	if !s.initialized() {
		waiting = "PodInitializing"
	}
	status.ContainerStatuses = containerStatuses(s.mains, waiting)
	status.Phase = s.phase()
	s.conditions(&status)
	return status
}

func containerStatuses(views []view, waiting string) []corev1.ContainerStatus {
	var statuses []corev1.ContainerStatus
	for _, v := range views {
		state := v.state
		if state == (corev1.ContainerState{}) {
			state.Waiting = &corev1.ContainerStateWaiting{Reason: waiting}
		}
		statuses = append(statuses, corev1.ContainerStatus{
			Name:                 v.name,
			Image:                v.image,
			ImageID:              v.image,
			ContainerID:          v.id,
			State:                state,
			LastTerminationState: v.last,
			RestartCount:         v.restarts,
			Ready:                v.ready,
			Started:              ptr.To(v.started),
		})
	}
	return statuses
}

// initialized tells whether the init containers have done their part.
func (s *statusWriter) initialized() bool {
	for _, v := range s.inits {
		if !v.started && (!v.finished || v.failed()) {
			return false
		}
	}
	return true
}

func (s *statusWriter) phase() corev1.PodPhase {
	if slices.ContainsFunc(s.inits, func(v view) bool { return v.finished && v.failed() }) {
		return corev1.PodFailed
	}
	finished, failed, launched := true, false, true
	for _, v := range s.mains {
		finished = finished && v.finished
		failed = failed || v.failed()
		launched = launched && v.launched
	}
	switch {
	case !launched || !s.initialized():
		return corev1.PodPending
	case finished && failed:
		return corev1.PodFailed
	case finished:
		return corev1.PodSucceeded
	default:
		return corev1.PodRunning
	}
}

func (s *statusWriter) conditions(status *corev1.PodStatus) {
	var unready []string
	for _, v := range s.mains {
		if !v.ready {
			unready = append(unready, v.name)
		}
	}
	reason, message := "", ""
	switch {
	case status.Phase == corev1.PodSucceeded:
		reason = "PodCompleted"
	case len(unready) > 0:
		reason, message = "ContainersNotReady", "containers with unready status: ["+strings.Join(unready, " ")+"]"
	}
	ready := len(unready) == 0
	s.set(status, corev1.PodReadyToStartContainers, true, "", "")
	if s.initialized() {
		s.set(status, corev1.PodInitialized, true, "", "")
	} else {
		s.set(status, corev1.PodInitialized, false, "ContainersNotInitialized", "init containers have not ended")
	}
	s.set(status, corev1.ContainersReady, ready, reason, message)
	if gate := s.closedGate(); ready && gate != "" {
		ready, reason, message = false, "ReadinessGatesNotReady", "condition "+gate+" is not True"
	}
	s.set(status, corev1.PodReady, ready, reason, message)
	s.set(status, corev1.PodScheduled, true, "", "")
}

// closedGate is a readiness gate that does not hold, or empty.
func (s *statusWriter) closedGate() string {
	for _, gate := range s.pod.Spec.ReadinessGates {
		open := false
		for i := range s.pod.Status.Conditions {
			c := &s.pod.Status.Conditions[i]
			open = open || c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue
		}
		if !open {
			return string(gate.ConditionType)
		}
	}
	return ""
}

func (s *statusWriter) set(status *corev1.PodStatus, kind corev1.PodConditionType, holds bool, reason, message string) {
	value := corev1.ConditionFalse
	if holds {
		value = corev1.ConditionTrue
	}
	wanted := corev1.PodCondition{
		Type: kind, Status: value, Reason: reason, Message: message,
		ObservedGeneration: s.pod.Generation, LastTransitionTime: s.now,
	}
	for i := range status.Conditions {
		if status.Conditions[i].Type != kind {
			continue
		}
		if status.Conditions[i].Status == value {
			wanted.LastTransitionTime = status.Conditions[i].LastTransitionTime
		}
		status.Conditions[i] = wanted
		return
	}
	status.Conditions = append(status.Conditions, wanted)
}
