// Package v1alpha1 holds the custom resources of terdut-operator: a
// TerdutServer and what lives on it (teams, escalation rules, dead man's
// switches, alert sources). It contains types, their names and nothing that
// acts.
//
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +kubebuilder:ac:output:package="../../../applyconfig/terdut"
// +groupName=terdut.ryuvia.com
package v1alpha1
