package world

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// rollsByDefault gives a Deployment the strategy that it has when nobody names
// one. Whoever writes it that way owns it, and it is in the way of another one.
func rollsByDefault(object *unstructured.Unstructured) {
	spec, ok := object.Object["spec"].(map[string]any)
	if !ok || object.GetKind() != "Deployment" {
		return
	}
	strategy, ok := spec["strategy"].(map[string]any)
	if !ok {
		strategy = map[string]any{}
		spec["strategy"] = strategy
	}
	if strategy["type"] == nil {
		strategy["type"] = rolling
	}
	if strategy["type"] == rolling && strategy["rollingUpdate"] == nil {
		strategy["rollingUpdate"] = map[string]any{"maxSurge": "25%", "maxUnavailable": "25%"}
	}
}

const rolling = "RollingUpdate"

// rollsAndDoesNot finds what a Deployment cannot have beside its strategy.
func rollsAndDoesNot(object map[string]any) field.ErrorList {
	name, _, _ := unstructured.NestedString(object, "spec", "strategy", "type")
	if how, found, _ := unstructured.NestedFieldNoCopy(object, "spec", "strategy", "rollingUpdate"); name == rolling || !found || how == nil {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "strategy", "rollingUpdate"), "may not be specified when strategy `type` is '"+name+"'")}
}
