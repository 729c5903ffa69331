package server

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

const (
	containerName = "terdut-server"
	// uid that the image runs as, and its writable directory: both assumed.
	uid          = 65532
	scratchName  = "tmp"
	scratchMount = "/tmp"
	healthPath   = "/healthz"
)

func renderDeployment(in *Inputs) *appsv1ac.DeploymentApplyConfiguration {
	return appsv1ac.Deployment(in.Name, in.Namespace).
		WithLabels(labels(in.Name)).
		WithOwnerReferences(owner(in)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(replicas(&in.Spec)).
			// A rolling update would run two sweepers and two notifiers on one
			// database while it lasts.
			WithStrategy(appsv1ac.DeploymentStrategy().WithType(appsv1.RecreateDeploymentStrategyType)).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(selector(in.Name))).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(labels(in.Name)).
				WithSpec(podSpec(in))))
}

func replicas(spec *v1alpha1.TerdutServerSpec) int32 {
	if spec.Replicas == nil {
		return defaultReplicas
	}
	return *spec.Replicas
}

// podSpec satisfies the Pod Security level "restricted".
func podSpec(in *Inputs) *corev1ac.PodSpecApplyConfiguration {
	return corev1ac.PodSpec().
		// The server does not talk to Kubernetes.
		WithAutomountServiceAccountToken(false).
		// Variables of the Services around would mix with those of the image.
		WithEnableServiceLinks(false).
		WithSecurityContext(corev1ac.PodSecurityContext().
			WithRunAsNonRoot(true).
			WithRunAsUser(uid).
			WithRunAsGroup(uid).
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
		WithContainers(container(in)).
		WithVolumes(corev1ac.Volume().WithName(scratchName).WithEmptyDir(corev1ac.EmptyDirVolumeSource()))
}

func container(in *Inputs) *corev1ac.ContainerApplyConfiguration {
	return corev1ac.Container().
		WithName(containerName).
		WithImage(image(&in.Spec)).
		WithEnv(environment(in)...).
		WithPorts(corev1ac.ContainerPort().WithName(portName).WithContainerPort(port(&in.Spec))).
		WithReadinessProbe(health().WithPeriodSeconds(5)).
		WithLivenessProbe(health().WithPeriodSeconds(20).WithFailureThreshold(6).WithTimeoutSeconds(5)).
		WithResources(corev1ac.ResourceRequirements().WithRequests(corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("50m"),
			corev1.ResourceMemory: resource.MustParse("64Mi"),
		})).
		WithSecurityContext(corev1ac.SecurityContext().
			WithAllowPrivilegeEscalation(false).
			WithReadOnlyRootFilesystem(true).
			WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))).
		WithVolumeMounts(corev1ac.VolumeMount().WithName(scratchName).WithMountPath(scratchMount))
}

func health() *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().WithHTTPGet(corev1ac.HTTPGetAction().
		WithPath(healthPath).
		WithPort(intstr.FromString(portName)))
}
