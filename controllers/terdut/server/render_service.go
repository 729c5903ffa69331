package server

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

// portName is the port of the container, of the Service and of the probes.
const portName = "http"

func renderService(in *Inputs) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(serviceName(in.Name), in.Namespace).
		WithLabels(labels(in.Name)).
		WithOwnerReferences(owner(in)).
		WithSpec(corev1ac.ServiceSpec().
			WithSelector(serviceSelector(in)).
			WithPorts(corev1ac.ServicePort().
				WithName(portName).
				WithPort(port(&in.Spec)).
				WithTargetPort(intstr.FromString(portName))))
}
