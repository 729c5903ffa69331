package alertsource

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

func TestHolds(t *testing.T) {
	s := &v1alpha1.TerdutAlertSource{ObjectMeta: metav1.ObjectMeta{UID: "me"}}
	good := func() *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Annotations:     map[string]string{v1alpha1.AnnotationIntegrationID: "7"},
				OwnerReferences: []metav1.OwnerReference{{UID: "me", Controller: ptr.To(true)}},
			},
			Data: map[string][]byte{"url": []byte("u"), "key": []byte("k")},
		}
	}
	for name, c := range map[string]struct {
		change func(*corev1.Secret)
		want   int64
	}{
		"whole":         {func(*corev1.Secret) {}, 7},
		"empty":         {func(s *corev1.Secret) { s.Data = nil }, 0},
		"without a key": {func(s *corev1.Secret) { s.Data["key"] = nil }, 0},
		"without a url": {func(s *corev1.Secret) { delete(s.Data, "url") }, 0},
		"somebody's":    {func(s *corev1.Secret) { s.OwnerReferences[0].UID = "you" }, 0},
		"no ID":         {func(s *corev1.Secret) { s.Annotations = nil }, 0},
		"a bad ID":      {func(s *corev1.Secret) { s.Annotations[v1alpha1.AnnotationIntegrationID] = "x" }, 0},
		"being deleted": {func(s *corev1.Secret) { now := metav1.Now(); s.DeletionTimestamp = &now }, 0},
	} {
		secret := good()
		c.change(secret)
		if got := holds(secret, s); got.id != c.want {
			t.Errorf("%s: holds the key of %d, want %d", name, got.id, c.want)
		}
	}
}

// TestKeyed: a key is that of the integration of its ID, unless both sides say
// when that was made and differ: a server that came back from a backup gives IDs
// out again.
func TestKeyed(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		v1alpha1.AnnotationIntegrationID: "7", v1alpha1.AnnotationIntegrationCreatedAt: "then",
	}}}
	for _, c := range []struct {
		other keyed
		want  bool
	}{
		{keyed{7, "then"}, true},
		{keyed{7, ""}, true},
		{keyed{7, "now"}, false},
		{keyed{8, "then"}, false},
		{keyed{}, false},
	} {
		if got := keyOf(secret).is(c.other); got != c.want {
			t.Errorf("the key of %v is that of %v: %t", keyOf(secret), c.other, got)
		}
	}
	if (keyed{}).is(keyed{}) {
		t.Error("no key is that of no integration")
	}
}
