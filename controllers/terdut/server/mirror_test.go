package server

import (
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

func TestExposures(t *testing.T) {
	x := func(namespace string, key int64) v1alpha1.ExposedKey {
		return v1alpha1.ExposedKey{Namespace: namespace, KeyID: key}
	}
	for _, c := range []struct {
		name          string
		known         *v1alpha1.ServerCredentialsStatus
		wanted, found []string
		gone          []string
		exposed       []v1alpha1.ExposedKey
		left          v1alpha1.ServerCredentialsStatus
	}{
		{name: "nothing"},
		{name: "all wanted", wanted: []string{"a", "b"}, found: []string{"a", "b"}, known: &v1alpha1.ServerCredentialsStatus{Mirrors: 2, MirrorNamespaces: []string{"a", "b"}},
			left: v1alpha1.ServerCredentialsStatus{Mirrors: 2, MirrorNamespaces: []string{"a", "b"}}},
		{name: "one goes", wanted: []string{"b"}, found: []string{"a", "b"}, known: &v1alpha1.ServerCredentialsStatus{Mirrors: 2, MirrorNamespaces: []string{"a", "b"}},
			gone: []string{"a"}, exposed: []v1alpha1.ExposedKey{x("a", 7)}, left: v1alpha1.ServerCredentialsStatus{Mirrors: 1, MirrorNamespaces: []string{"b"}}},
		{name: "one went with its namespace", wanted: []string{"b"}, found: []string{"b"}, known: &v1alpha1.ServerCredentialsStatus{Mirrors: 2, MirrorNamespaces: []string{"a", "b"}},
			gone: []string{"a"}, exposed: []v1alpha1.ExposedKey{x("a", 7)}, left: v1alpha1.ServerCredentialsStatus{Mirrors: 1, MirrorNamespaces: []string{"b"}}},
		{name: "it was written down before a crash", found: []string{"a"}, known: &v1alpha1.ServerCredentialsStatus{Exposed: []v1alpha1.ExposedKey{x("a", 7)}},
			gone: []string{"a"}, exposed: []v1alpha1.ExposedKey{x("a", 7)}},
		{name: "status lost", found: []string{"a"}, gone: []string{"a"}, exposed: []v1alpha1.ExposedKey{x("a", 7)}},
		{name: "an earlier key as well", found: []string{"a"}, known: &v1alpha1.ServerCredentialsStatus{Exposed: []v1alpha1.ExposedKey{x("a", 3)}},
			gone: []string{"a"}, exposed: []v1alpha1.ExposedKey{x("a", 3), x("a", 7)}},
		{name: "wanted again", wanted: []string{"a"}, known: &v1alpha1.ServerCredentialsStatus{Exposed: []v1alpha1.ExposedKey{x("a", 3), x("b", 3)}},
			exposed: []v1alpha1.ExposedKey{x("b", 3)}},
	} {
		server := &v1alpha1.TerdutServer{Status: v1alpha1.TerdutServerStatus{Credentials: c.known}}
		found := map[string]*corev1.Secret{}
		for _, namespace := range c.found {
			found[namespace] = &corev1.Secret{}
		}
		got := exposures(server, c.wanted, found, 7)
		if !slices.Equal(got.gone, c.gone) || !slices.Equal(got.exposed, c.exposed) {
			t.Errorf("%s: gone %v, exposed %v", c.name, got.gone, got.exposed)
		}
		after := &v1alpha1.ServerCredentialsStatus{}
		if c.known != nil {
			after = c.known.DeepCopy()
		}
		got.apply(after)
		if after.Mirrors != c.left.Mirrors || !slices.Equal(after.MirrorNamespaces, c.left.MirrorNamespaces) || !slices.Equal(after.Exposed, c.exposed) {
			t.Errorf("%s: the status is left as %+v", c.name, after)
		}
	}
}

func TestExposedKeys(t *testing.T) {
	exposed := []v1alpha1.ExposedKey{{Namespace: "a", KeyID: 3}, {Namespace: "b"}, {Namespace: "c", KeyID: 4}}
	server := &v1alpha1.TerdutServer{Status: v1alpha1.TerdutServerStatus{Credentials: &v1alpha1.ServerCredentialsStatus{Exposed: exposed}}}
	for key, want := range map[int64]bool{3: true, 4: true, 5: false, 0: true} {
		if got := isExposed(server, &credential{keyID: key}); got != want {
			t.Errorf("key %d is exposed: %v", key, got)
		}
	}
	if got := unexposed(exposed, 3); !reflect.DeepEqual(got, exposed[1:]) {
		t.Errorf("after key 3 is revoked: %v", got)
	}
	if got := identified(exposed, 9); got[1].KeyID != 9 || got[0].KeyID != 3 || exposed[1].KeyID != 0 {
		t.Errorf("with the key found: %v of %v", got, exposed)
	}
}

func TestIsMirror(t *testing.T) {
	server := &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "terdut"}}
	of := func(change ...func(*corev1.Secret)) *corev1.Secret {
		made := mirror(server, &credential{key: "k", keyID: 7})
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: made.Name, Labels: made.Labels, Annotations: made.Annotations}}
		for _, f := range change {
			f(s)
		}
		return s
	}
	if !isMirror(of(), server) {
		t.Error("a copy is not known again")
	}
	for name, other := range map[string]*corev1.Secret{
		"another name":      of(func(s *corev1.Secret) { s.Name = "other" }),
		"without label":     of(func(s *corev1.Secret) { delete(s.Labels, v1alpha1.LabelCredentials) }),
		"no annotation":     of(func(s *corev1.Secret) { s.Annotations = nil }),
		"of another server": of(func(s *corev1.Secret) { s.Annotations[v1alpha1.AnnotationMirrorOf] = "platform/other" }),
		"server's own":      of(func(s *corev1.Secret) { s.Namespace = "platform" }),
	} {
		if isMirror(other, server) {
			t.Errorf("%s: taken for a copy", name)
		}
	}
}
