package node

import (
	"context"
	"fmt"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/source"
)

// KillContainer ends a container of a pod by SIGKILL, as a crash would: nothing is told, neither the process nor the
// kubelet, which starts the container again when it notices. id is the container's ID without its scheme, as in the pod's
// status.
func (n *Node) KillContainer(ctx context.Context, id string) error {
	cmd := n.space.Command(ctx, ctrBinary, "--address="+containerdSocket, "--namespace=k8s.io",
		"tasks", "kill", "--signal=SIGKILL", id)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kill container %s: %s", id, source.LastLine(string(output), err))
	}
	return nil
}
