package localnode

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// place is a Secret volume of a container: where its specification mounts it, and where it really is.
type place struct{ mountPath, dir string }

// mount writes the Secret volumes that a container mounts as they are now. Like a kubelet it needs each of them before the
// container starts; unlike one it does not follow later changes.
func mount(ctx context.Context, values source, pod *corev1.Pod, container *corev1.Container, below string) ([]place, error) {
	var places []place
	for _, m := range container.VolumeMounts {
		at := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
		if at < 0 || pod.Spec.Volumes[at].Secret == nil || m.SubPath != "" {
			continue
		}
		dir := filepath.Join(below, m.Name)
		if err := project(ctx, values, pod.Namespace, pod.Spec.Volumes[at].Secret, dir); err != nil {
			return nil, fmt.Errorf("mount volume %s: %w", m.Name, err)
		}
		places = append(places, place{mountPath: m.MountPath, dir: dir})
	}
	return places, nil
}

// project writes the keys of a Secret into a directory. No value is ever part of an error.
func project(ctx context.Context, values source, namespace string, volume *corev1.SecretVolumeSource, dir string) error {
	data, err := values.secret(ctx, namespace, volume.SecretName)
	if err != nil {
		return err
	}
	optional := volume.Optional != nil && *volume.Optional
	if data == nil && !optional {
		return fmt.Errorf("secret %q not found", volume.SecretName)
	}
	files, err := filesOf(volume, data, optional)
	if err != nil {
		return err
	}
	if err = os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make its directory: %w", err)
	}
	for key, path := range files {
		if err = os.WriteFile(filepath.Join(dir, filepath.Base(path)), []byte(data[key]), 0o600); err != nil {
			return fmt.Errorf("write key %s: %w", key, err)
		}
	}
	return nil
}

// filesOf gives each key that is mounted its path.
func filesOf(volume *corev1.SecretVolumeSource, data map[string]string, optional bool) (map[string]string, error) {
	files := map[string]string{}
	if len(volume.Items) == 0 {
		for key := range data {
			files[key] = key
		}
	}
	for _, item := range volume.Items {
		_, found := data[item.Key]
		switch {
		case found:
			files[item.Key] = item.Path
		case !optional:
			return nil, fmt.Errorf("references non-existent secret key: %s", item.Key)
		}
	}
	return files, nil
}

// relocate leads the values of an environment to where the volumes really are.
func relocate(env []corev1.EnvVar, places []place) []corev1.EnvVar {
	moved := slices.Clone(env)
	for i := range moved {
		for _, p := range places {
			moved[i].Value = strings.ReplaceAll(moved[i].Value, p.mountPath+"/", p.dir+"/")
		}
	}
	return moved
}
