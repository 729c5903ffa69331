package server

import (
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// knobs sets what the spec says about the pod, save what belongs to the
// container.
func knobs(pod *corev1ac.PodSpecApplyConfiguration, spec *v1alpha1.ServerPod) *corev1ac.PodSpecApplyConfiguration {
	for _, secret := range spec.ImagePullSecrets {
		pod.WithImagePullSecrets(corev1ac.LocalObjectReference().WithName(secret.Name))
	}
	if len(spec.NodeSelector) > 0 {
		pod.WithNodeSelector(plain(spec.NodeSelector))
	}
	for i := range spec.Tolerations {
		pod.WithTolerations(as[corev1ac.TolerationApplyConfiguration](spec.Tolerations[i]))
	}
	if affinity := lean[corev1ac.AffinityApplyConfiguration](spec.Affinity); spec.Affinity != nil && affinity != nil {
		pod.WithAffinity(affinity)
	}
	for i := range spec.TopologySpreadConstraints {
		pod.WithTopologySpreadConstraints(as[corev1ac.TopologySpreadConstraintApplyConfiguration](spec.TopologySpreadConstraints[i]))
	}
	if spec.PriorityClassName != "" {
		pod.WithPriorityClassName(spec.PriorityClassName)
	}
	for i := range spec.ExtraVolumes {
		pod.WithVolumes(volume(&spec.ExtraVolumes[i]))
	}
	return pod
}

// podLabels are those of the pod: the user's, and over them the operator's and
// those that the selector asks for.
func podLabels(in *Inputs) map[string]string {
	set := plain(in.Spec.PodLabels)
	maps.Copy(set, labels(in.Name))
	maps.Copy(set, selector(in).MatchLabels)
	return set
}

// podSecurity fulfils the Pod Security Standard restricted unless the spec
// says otherwise. It is nil when the spec says nothing with many words.
func podSecurity(spec *v1alpha1.ServerPod) *corev1ac.PodSecurityContextApplyConfiguration {
	if spec.PodSecurityContext != nil {
		return lean[corev1ac.PodSecurityContextApplyConfiguration](spec.PodSecurityContext)
	}
	return corev1ac.PodSecurityContext().
		WithRunAsNonRoot(true).
		WithRunAsUser(uid).
		WithRunAsGroup(uid).
		WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))
}

// containerSecurity is podSecurity for the container.
func containerSecurity(spec *v1alpha1.ServerPod) *corev1ac.SecurityContextApplyConfiguration {
	if spec.ContainerSecurityContext != nil {
		return lean[corev1ac.SecurityContextApplyConfiguration](spec.ContainerSecurityContext)
	}
	return corev1ac.SecurityContext().
		WithAllowPrivilegeEscalation(false).
		WithReadOnlyRootFilesystem(true).
		WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))
}

// resources of the container, nil for none.
func resources(spec *v1alpha1.ServerPod) *corev1ac.ResourceRequirementsApplyConfiguration {
	if spec.Resources == nil {
		return corev1ac.ResourceRequirements().WithRequests(corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("50m"),
			corev1.ResourceMemory: resource.MustParse("64Mi"),
		})
	}
	requirements := corev1ac.ResourceRequirements()
	if len(spec.Resources.Limits) > 0 {
		requirements.WithLimits(rounded(spec.Resources.Limits))
	}
	if len(spec.Resources.Requests) > 0 {
		requirements.WithRequests(rounded(spec.Resources.Requests))
	}
	if requirements.Limits == nil && requirements.Requests == nil {
		return nil
	}
	return requirements
}

// rounded gives quantities as the API server stores them: nothing below a
// thousandth.
func rounded(list corev1.ResourceList) corev1.ResourceList {
	out := make(corev1.ResourceList, len(list))
	for name, quantity := range list {
		quantity = quantity.DeepCopy()
		quantity.RoundUp(resource.Milli)
		out[name] = quantity
	}
	return out
}

// extraEnv are the variables of the spec. An empty value is stored without it.
func extraEnv(spec *v1alpha1.ServerPod) []*corev1ac.EnvVarApplyConfiguration {
	var out []*corev1ac.EnvVarApplyConfiguration
	for i := range spec.ExtraEnv {
		from := &spec.ExtraEnv[i]
		variable := corev1ac.EnvVar().WithName(from.Name)
		if from.Value != "" {
			variable.WithValue(from.Value)
		}
		if from.ValueFrom != nil {
			variable.WithValueFrom(as[corev1ac.EnvVarSourceApplyConfiguration](valueSource(from.ValueFrom)))
		}
		out = append(out, variable)
	}
	return out
}

// extraMounts are the mounts of the spec.
func extraMounts(spec *v1alpha1.ServerPod) []*corev1ac.VolumeMountApplyConfiguration {
	var out []*corev1ac.VolumeMountApplyConfiguration
	for i := range spec.ExtraVolumeMounts {
		out = append(out, as[corev1ac.VolumeMountApplyConfiguration](spec.ExtraVolumeMounts[i]))
	}
	return out
}

func volume(from *v1alpha1.ServerVolume) *corev1ac.VolumeApplyConfiguration {
	from = from.DeepCopy()
	if from.Projected != nil {
		for i := range from.Projected.Sources {
			fillProjection(&from.Projected.Sources[i])
		}
	}
	return as[corev1ac.VolumeApplyConfiguration](from)
}

// The API server fills in defaults. Most of them belong to nobody, but a list
// or map that is applied as one belongs to us with all that is in it: what it
// fills in there has to be rendered.
const (
	// defaultFieldVersion is the default of a fieldRef's apiVersion.
	defaultFieldVersion = "v1"
	// defaultTokenSeconds is the default life of a projected token.
	defaultTokenSeconds = int64(3600)
)

func fillProjection(source *corev1.VolumeProjection) {
	if token := source.ServiceAccountToken; token != nil && token.ExpirationSeconds == nil {
		seconds := defaultTokenSeconds
		token.ExpirationSeconds = &seconds
	}
	if source.DownwardAPI == nil {
		return
	}
	for i := range source.DownwardAPI.Items {
		fillField(source.DownwardAPI.Items[i].FieldRef)
	}
}

func valueSource(from *corev1.EnvVarSource) *corev1.EnvVarSource {
	from = from.DeepCopy()
	fillField(from.FieldRef)
	return from
}

func fillField(field *corev1.ObjectFieldSelector) {
	if field != nil && field.APIVersion == "" {
		field.APIVersion = defaultFieldVersion
	}
}

// plain is the map without the type of its values, and never nil.
func plain[V ~string](from map[string]V) map[string]string {
	out := make(map[string]string, len(from))
	for key, value := range from {
		out[key] = string(value)
	}
	return out
}

// lean is as, without objects in which nothing is set; nil when nothing is left.
// They mean nothing, and an empty object belongs to nobody. In a list an empty
// object may mean something, and belongs to who applies the list.
func lean[C any](from any) *C {
	content := *as[map[string]any](from)
	prune(content)
	if len(content) == 0 {
		return nil
	}
	return as[C](content)
}

func prune(content map[string]any) {
	for name, inner := range content {
		if object, ok := inner.(map[string]any); ok {
			if prune(object); len(object) == 0 {
				delete(content, name)
			}
		}
	}
}

// as reads a type of Kubernetes as its apply configuration. Both have one
// encoding, and what the API server has accepted can be written again.
func as[C any](from any) *C {
	to := new(C)
	raw, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(raw, to)
	}
	if err != nil {
		panic(fmt.Sprintf("render %T as %T: %v", from, to, err))
	}
	return to
}
