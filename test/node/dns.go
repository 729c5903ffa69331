package node

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/source"
)

// awaitDNS waits until CoreDNS is available.
func (n *Node) awaitDNS(ctx context.Context) error {
	typed, err := n.client()
	if err != nil {
		return err
	}
	done := source.Progress(n.log, "starting coredns in a pod")
	err = n.await(ctx, kubelet, func(ctx context.Context) error {
		deployment, getErr := typed.AppsV1().Deployments("kube-system").Get(ctx, "coredns", metav1.GetOptions{})
		if getErr != nil {
			return fmt.Errorf("get the Deployment: %w", getErr)
		}
		for _, condition := range deployment.Status.Conditions {
			if condition.Type == appsv1.DeploymentAvailable && condition.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("its Deployment has %d pods available", deployment.Status.AvailableReplicas)
	})
	done(err)
	if err != nil {
		return fmt.Errorf("start coredns: %w", err)
	}
	return nil
}
