package server

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

// databaseVolumes is the certificate authority of the database.
func databaseVolumes(in *Inputs) []*corev1ac.VolumeApplyConfiguration {
	ca := in.Database.CA
	if ca == nil {
		return nil
	}
	// One key only: that of CloudNativePG's authority lies beside it.
	return []*corev1ac.VolumeApplyConfiguration{corev1ac.Volume().WithName(caVolume).WithSecret(corev1ac.SecretVolumeSource().
		WithSecretName(ca.Secret).
		WithItems(corev1ac.KeyToPath().WithKey(ca.Key).WithPath(caFile)))}
}

func databaseMounts(in *Inputs) []*corev1ac.VolumeMountApplyConfiguration {
	if in.Database.CA == nil {
		return nil
	}
	return []*corev1ac.VolumeMountApplyConfiguration{
		corev1ac.VolumeMount().WithName(caVolume).WithMountPath(caMount).WithReadOnly(true),
	}
}
