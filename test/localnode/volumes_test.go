package localnode

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// held is a source with one Secret.
type held map[string]string

func (h held) secret(_ context.Context, _, name string) (map[string]string, error) {
	if name != "ca" {
		return nil, nil
	}
	return h, nil
}

func (held) configMap(context.Context, string, string) (map[string]string, error) { return nil, nil }

func TestMount(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Volumes: []corev1.Volume{
		{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "ca", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: "ca", Items: []corev1.KeyToPath{{Key: "root.pem", Path: "ca.crt"}},
		}}},
	}}}
	container := &corev1.Container{VolumeMounts: []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}, {Name: "ca", MountPath: "/etc/ca"}}}
	dir := t.TempDir()
	places, err := mount(t.Context(), held{"root.pem": "certificate", "ca.key": "private"}, pod, container, dir)
	if err != nil || len(places) != 1 {
		t.Fatalf("%v, %v", places, err)
	}
	env := relocate([]corev1.EnvVar{{Name: "DSN", Value: "postgres://h/etc/ca?sslrootcert=/etc/ca/ca.crt"}}, places)
	if want := "postgres://h/etc/ca?sslrootcert=" + filepath.Join(dir, "ca") + "/ca.crt"; env[0].Value != want {
		t.Errorf("got %q, want %q", env[0].Value, want)
	}
	if content, readErr := os.ReadFile(filepath.Join(dir, "ca", "ca.crt")); readErr != nil || string(content) != "certificate" {
		t.Errorf("%q, %v", content, readErr)
	}
	if files, readErr := os.ReadDir(filepath.Join(dir, "ca")); readErr != nil || len(files) != 1 {
		t.Errorf("what is not asked for is not mounted: %v, %v", files, readErr)
	}

	if _, err = mount(t.Context(), held{"other": "x"}, pod, container, dir); err == nil {
		t.Error("a key that is missing must hold the container back")
	}
	pod.Spec.Volumes[1].Secret.SecretName = "missing"
	if _, err = mount(t.Context(), held{}, pod, container, dir); err == nil {
		t.Error("a Secret that is missing must hold the container back")
	}
}
