package server

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// crdPath is the generated definition, whose rules name what is rendered here.
const crdPath = "../../../config/crd/terdut.ryuvia.com_terdutservers.yaml"

// quoted are the words in quotes in the rule of a field's items that says so.
func quoted(t *testing.T, says string, path ...string) []string {
	t.Helper()
	raw, err := os.ReadFile(crdPath)
	if err != nil {
		t.Fatal(err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err = yaml.Unmarshal(raw, definition); err != nil {
		t.Fatal(err)
	}
	at := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	for _, name := range path {
		at = at.Properties[name]
		if at.Items != nil {
			at = *at.Items.Schema
		}
	}
	for _, rule := range at.XValidations {
		if !strings.Contains(rule.Message, says) {
			continue
		}
		var words []string
		for _, match := range regexp.MustCompile(`'([^']*)'`).FindAllStringSubmatch(rule.Rule, -1) {
			words = append(words, match[1])
		}
		return words
	}
	t.Fatalf("no rule of %v says %q", path, says)
	return nil
}

// A variable that the operator sets cannot be an extra one: two of a name
// would be refused when they are applied, without a reason.
func TestExtraEnvRefusesEverySetting(t *testing.T) {
	refused := quoted(t, "sets this variable", "extraEnv")
	for _, s := range settings {
		if !strings.HasPrefix(s.variable, "PG") && !slices.Contains(refused, s.variable) {
			t.Errorf("spec.extraEnv does not refuse %s: add it to the rule of ServerEnvVar", s.variable)
		}
	}
	for _, name := range refused {
		if !slices.ContainsFunc(settings, func(s setting) bool { return s.variable == name }) {
			t.Errorf("spec.extraEnv refuses %s, which is set by nothing: take it out of the rule of ServerEnvVar", name)
		}
	}
}

// No more can extra volumes, mounts and labels be the operator's own.
func TestExtrasRefuseWhatIsRendered(t *testing.T) {
	volumes, mounts := quoted(t, "volumes of the operator", "extraVolumes"), quoted(t, "operator's mounts", "extraVolumeMounts", "mountPath")
	keys := quoted(t, "are the operator's", "podLabels")
	for _, path := range cases(t) {
		in := inputsOf(t, path)
		in.Spec.ExtraVolumes, in.Spec.ExtraVolumeMounts, in.Spec.PodLabels = nil, nil, nil
		pod := renderDeployment(&in).Spec.Template
		for _, v := range pod.Spec.Volumes {
			if !slices.Contains(volumes, *v.Name) {
				t.Errorf("%s: spec.extraVolumes does not refuse %s: add it to the rule of ServerVolume", path, *v.Name)
			}
		}
		for _, m := range pod.Spec.Containers[0].VolumeMounts {
			if !slices.ContainsFunc(mounts, func(prefix string) bool { return strings.HasPrefix(*m.MountPath, prefix) }) {
				t.Errorf("%s: spec.extraVolumeMounts does not refuse %s: add it to the rule of ServerVolumeMount", path, *m.MountPath)
			}
		}
		for key := range pod.Labels {
			if !slices.Contains(keys, key) {
				t.Errorf("%s: spec.podLabels does not refuse %s: add it to the rule of ServerPod", path, key)
			}
		}
	}
}
