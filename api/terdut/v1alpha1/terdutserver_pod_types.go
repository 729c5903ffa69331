package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

// ServerImage is the image of terdut-server.
type ServerImage struct {
	// repository of the image; git.ryuvia.com/niklas/terdut-server when empty.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^([a-z0-9]+([._:/-]+[a-zA-Z0-9]+)*)?$`
	Repository string `json:"repository,omitempty"`
	// tag of the image; v0.9.3 when empty.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9_][A-Za-z0-9._-]*)?$`
	Tag string `json:"tag,omitempty"`
	// digest of the image, sha256: and 64 hexadecimal digits. With it the tag
	// only informs people: the pod runs this very image.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:Pattern=`^(sha256:[a-f0-9]{64})?$`
	Digest string `json:"digest,omitempty"`
	// pullPolicy is Always, IfNotPresent or Never. When not set, Kubernetes
	// decides: Always for the tag latest, otherwise IfNotPresent.
	// +optional
	PullPolicy PullPolicy `json:"pullPolicy,omitempty"`
}

// PullPolicy says when the image is pulled.
//
// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
type PullPolicy string

// TakeOver names the tool whose objects the operator takes over.
//
// +kubebuilder:validation:Enum=Helm
type TakeOver string

// TakeOverHelm takes over the objects of a Helm release.
const TakeOverHelm TakeOver = "Helm"

// ServerPod are the knobs of the server's pod. What is not offered here can be
// added to the Deployment by another field manager: what the operator does not
// set it never touches.
type ServerPod struct {
	// resources of the container, in place of the default: requests of 50m CPU
	// and 64Mi memory, no limits. An empty object means none at all.
	// +optional
	Resources *ServerResources `json:"resources,omitempty"`
	// imagePullSecrets in the server's namespace.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	ImagePullSecrets []LocalRef `json:"imagePullSecrets,omitempty"`
	// nodeSelector holds labels that the pod's node must bear.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	NodeSelector map[string]LabelValue `json:"nodeSelector,omitempty"`
	// tolerations of the pod.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// affinity of the pod.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// topologySpreadConstraints of the pod. One without a labelSelector counts
	// no pods.
	// +optional
	// +listType=map
	// +listMapKey=topologyKey
	// +listMapKey=whenUnsatisfiable
	// +kubebuilder:validation:MaxItems=16
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	// priorityClassName of the pod; the cluster's default when empty.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$`
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// podLabels stand on the pod besides the operator's own.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['app.kubernetes.io/name', 'app.kubernetes.io/instance', 'app.kubernetes.io/managed-by']) && !k.startsWith('terdut.ryuvia.com/'))",message="app.kubernetes.io/name, app.kubernetes.io/instance, app.kubernetes.io/managed-by and terdut.ryuvia.com/* are the operator's: use other keys"
	PodLabels map[string]LabelValue `json:"podLabels,omitempty"`
	// podAnnotations stand on the pod.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('terdut.ryuvia.com/'))",message="terdut.ryuvia.com/* is the operator's: use other keys"
	PodAnnotations map[string]AnnotationValue `json:"podAnnotations,omitempty"`
	// extraEnv of the container, after the operator's own. It may use neither
	// PG* nor a variable that the operator sets.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	ExtraEnv []ServerEnvVar `json:"extraEnv,omitempty"`
	// extraVolumes of the pod.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	ExtraVolumes []ServerVolume `json:"extraVolumes,omitempty"`
	// extraVolumeMounts of the container, each of one of extraVolumes.
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	// +kubebuilder:validation:MaxItems=32
	ExtraVolumeMounts []ServerVolumeMount `json:"extraVolumeMounts,omitempty"`
	// podSecurityContext replaces the pod's security context. The default
	// fulfils the Pod Security Standard restricted, with uid 65532.
	// +optional
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`
	// containerSecurityContext replaces the container's security context. The
	// default fulfils the Pod Security Standard restricted, with a read-only
	// root.
	// +optional
	ContainerSecurityContext *corev1.SecurityContext `json:"containerSecurityContext,omitempty"`
}

// ServerResources are compute resources.
type ServerResources struct {
	// limits that the container may not exceed.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	Limits corev1.ResourceList `json:"limits,omitempty"`
	// requests are what the scheduler keeps free for the container; equal to
	// the limits where only these are set.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	Requests corev1.ResourceList `json:"requests,omitempty"`
}

// LabelValue is the value of a label.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`
type LabelValue string

// AnnotationValue is the value of an annotation.
//
// +kubebuilder:validation:MaxLength=4096
type AnnotationValue string

// ServerEnvVar is one more variable of the container's environment.
//
// +kubebuilder:validation:XValidation:rule="!has(self.value) || self.value == \"\" || !has(self.valueFrom)",message="set value or valueFrom, not both"
// +kubebuilder:validation:XValidation:rule="!has(self.valueFrom) || [has(self.valueFrom.fieldRef), has(self.valueFrom.resourceFieldRef), has(self.valueFrom.configMapKeyRef), has(self.valueFrom.secretKeyRef), has(self.valueFrom.fileKeyRef)].filter(x, x).size() == 1",fieldPath=".valueFrom",message="set exactly one of fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef and fileKeyRef"
// +kubebuilder:validation:XValidation:rule="!self.name.startsWith('PG')",fieldPath=".name",message="PG* variables redirect the database behind the operator's back: set spec.database, or name the variable otherwise"
// +kubebuilder:validation:XValidation:rule="!(self.name in ['TERDUT_DATABASE_URL', 'TERDUT_LISTEN_ADDR', 'TERDUT_BASE_URL', 'TERDUT_STALE_AFTER', 'TERDUT_ARCHIVE_AFTER', 'TERDUT_DEADMAN_MATCHERS', 'TERDUT_DEADMAN_TIMEOUT', 'TERDUT_DEADMAN_SEVERITY', 'TERDUT_NTFY_URL', 'TERDUT_NTFY_FALLBACK_TOPIC', 'TERDUT_NTFY_REPEAT_EVERY', 'TERDUT_NTFY_TOKEN', 'TERDUT_OIDC_ENABLED', 'TERDUT_OIDC_ISSUER', 'TERDUT_OIDC_CLIENT_ID', 'TERDUT_OIDC_CLIENT_SECRET', 'TERDUT_OIDC_NAME', 'TERDUT_OIDC_SCOPES', 'TERDUT_OIDC_ALLOWED_GROUPS', 'TERDUT_OIDC_ADMIN_GROUP', 'TERDUT_OIDC_SESSION_MAX_AGE', 'TERDUT_PASSWORD_LOGIN'])",fieldPath=".name",message="the operator sets this variable from a field of its own: set that field instead"
type ServerEnvVar struct {
	// name of the variable.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_.-]*$`
	Name string `json:"name"`
	// value of the variable; $(NAME) is replaced by the variable of that name.
	// +optional
	// +kubebuilder:validation:MaxLength=8192
	Value string `json:"value,omitempty"`
	// valueFrom says where the value is read from.
	// +optional
	ValueFrom *corev1.EnvVarSource `json:"valueFrom,omitempty"`
}

// ServerVolume is one more volume of the pod. What a pod of today needs is
// offered; another kind of volume goes through a persistentVolumeClaim, or is
// added by another field manager.
//
// +kubebuilder:validation:XValidation:rule="[has(self.configMap), has(self.secret), has(self.emptyDir), has(self.persistentVolumeClaim), has(self.projected), has(self.csi)].filter(x, x).size() == 1",message="set exactly one of configMap, secret, emptyDir, persistentVolumeClaim, projected and csi"
// +kubebuilder:validation:XValidation:rule="!(self.name in ['tmp', 'database-ca'])",fieldPath=".name",message="tmp and database-ca are volumes of the operator: use another name"
// +kubebuilder:validation:XValidation:rule="!has(self.projected) || (has(self.projected.sources) && size(self.projected.sources) > 0)",fieldPath=".projected",message="projected needs at least one entry in sources: add one, or use emptyDir"
type ServerVolume struct {
	// name of the volume.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// configMap in the server's namespace.
	// +optional
	ConfigMap *corev1.ConfigMapVolumeSource `json:"configMap,omitempty"`
	// secret in the server's namespace.
	// +optional
	Secret *corev1.SecretVolumeSource `json:"secret,omitempty"`
	// emptyDir lives as long as the pod.
	// +optional
	EmptyDir *corev1.EmptyDirVolumeSource `json:"emptyDir,omitempty"`
	// persistentVolumeClaim in the server's namespace.
	// +optional
	PersistentVolumeClaim *corev1.PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim,omitempty"`
	// projected puts several sources into one directory.
	// +optional
	Projected *corev1.ProjectedVolumeSource `json:"projected,omitempty"`
	// csi is an ephemeral volume of a storage driver.
	// +optional
	CSI *corev1.CSIVolumeSource `json:"csi,omitempty"`
}

// ServerVolumeMount mounts one of extraVolumes into the container.
//
// +kubebuilder:validation:XValidation:rule="!has(self.subPath) || self.subPath == \"\" || !has(self.subPathExpr) || self.subPathExpr == \"\"",message="set subPath or subPathExpr, not both"
type ServerVolumeMount struct {
	// name of the volume.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// mountPath in the container. /tmp, which is writable already, and what
	// lies above or inside of the operator's own directories is refused.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[^:]*[^:/]$`
	// +kubebuilder:validation:XValidation:rule="!(self == '/tmp' || self.startsWith('/etc/terdut'))",message="/tmp and /etc/terdut* are the operator's mounts: use another path"
	MountPath string `json:"mountPath"`
	// subPath inside of the volume.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	SubPath string `json:"subPath,omitempty"`
	// subPathExpr is a subPath in which $(NAME) is replaced by a variable of
	// the container.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	SubPathExpr string `json:"subPathExpr,omitempty"`
	// readOnly forbids writing. Default false.
	// +optional
	ReadOnly bool `json:"readOnly,omitempty"`
}
