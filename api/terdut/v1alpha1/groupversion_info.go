package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SchemeGroupVersion is the group and version of every type in this package.
// The generated apply configurations want exactly this name.
var SchemeGroupVersion = schema.GroupVersion{Group: "terdut.ryuvia.com", Version: "v1alpha1"}

// AddToScheme registers the types of this package.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&TerdutServer{}, &TerdutServerList{},
		&TerdutTeam{}, &TerdutTeamList{},
		&TerdutEscalationRule{}, &TerdutEscalationRuleList{},
		&TerdutDeadmanSwitch{}, &TerdutDeadmanSwitchList{},
		&TerdutAlertSource{}, &TerdutAlertSourceList{},
	)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
