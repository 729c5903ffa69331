package v1alpha1

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
}
