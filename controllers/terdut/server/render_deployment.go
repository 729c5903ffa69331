package server

import (
	appsv1 "k8s.io/api/apps/v1"
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
			WithSelector(as[metav1ac.LabelSelectorApplyConfiguration](selector(in))).
			WithTemplate(podTemplate(in)))
}

func podTemplate(in *Inputs) *corev1ac.PodTemplateSpecApplyConfiguration {
	template := corev1ac.PodTemplateSpec().
		WithLabels(podLabels(in)).
		WithSpec(podSpec(in))
	if len(in.Spec.PodAnnotations) > 0 {
		template.WithAnnotations(plain(in.Spec.PodAnnotations))
	}
	if in.Spec.Database.RestartOnRotation && in.Database.PasswordHMAC != "" {
		template.WithAnnotations(map[string]string{v1alpha1.AnnotationDatabasePassword: in.Database.PasswordHMAC})
	}
	return template
}

func replicas(spec *v1alpha1.TerdutServerSpec) int32 {
	if spec.Replicas == nil {
		return defaultReplicas
	}
	return *spec.Replicas
}

func podSpec(in *Inputs) *corev1ac.PodSpecApplyConfiguration {
	pod := corev1ac.PodSpec().
		// The server does not talk to Kubernetes.
		WithAutomountServiceAccountToken(false).
		// Variables of the Services around would mix with those of the image.
		WithEnableServiceLinks(false).
		WithContainers(container(in)).
		WithVolumes(corev1ac.Volume().WithName(scratchName).WithEmptyDir(corev1ac.EmptyDirVolumeSource())).
		WithVolumes(databaseVolumes(in)...)
	if security := podSecurity(&in.Spec.ServerPod); security != nil {
		pod.WithSecurityContext(security)
	}
	return knobs(pod, &in.Spec.ServerPod)
}

func container(in *Inputs) *corev1ac.ContainerApplyConfiguration {
	pod := &in.Spec.ServerPod
	c := corev1ac.Container().
		WithName(containerName).
		WithImage(image(&in.Spec)).
		WithEnv(environment(in)...).
		WithEnv(extraEnv(pod)...).
		WithPorts(corev1ac.ContainerPort().WithName(portName).WithContainerPort(port(&in.Spec))).
		WithReadinessProbe(health().WithPeriodSeconds(5)).
		WithLivenessProbe(alive().WithPeriodSeconds(20).WithFailureThreshold(6).WithTimeoutSeconds(5)).
		WithVolumeMounts(corev1ac.VolumeMount().WithName(scratchName).WithMountPath(scratchMount)).
		WithVolumeMounts(databaseMounts(in)...).
		WithVolumeMounts(extraMounts(pod)...)
	if security := containerSecurity(pod); security != nil {
		c.WithSecurityContext(security)
	}
	if policy := pullPolicy(&in.Spec); policy != "" {
		c.WithImagePullPolicy(policy)
	}
	if wanted := resources(pod); wanted != nil {
		c.WithResources(wanted)
	}
	return c
}

// alive asks only whether the process still listens. A server may call itself
// unhealthy while its database is away; restarting it then would add the pause
// of a crash loop to every outage.
func alive() *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().WithTCPSocket(corev1ac.TCPSocketAction().WithPort(intstr.FromString(portName)))
}

func health() *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().WithHTTPGet(corev1ac.HTTPGetAction().
		WithPath(healthPath).
		WithPort(intstr.FromString(portName)))
}
