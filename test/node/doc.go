// Package node runs a whole Kubernetes node for the tests, from source and without Docker: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler, containerd with runc, kubelet, kube-proxy in nftables mode and CoreDNS. Pods
// run, Services route, names resolve. It takes root on Linux.
//
// The node lives in namespaces of its own: mounts, processes, network, IPC and host name. It has no link to any other
// network, so nothing that runs on it can reach the machine's network or be reached from there. The test reaches the API
// server through a port on loopback that this process forwards ([Node.Kubeconfig]), and pods and Services through
// [Node.DialContext]. What a pod should reach in the test's process listens on [Node.Listen].
//
//	n, err := node.Start(ctx, node.Options{Log: os.Stderr})
//	if err != nil { ... }
//	defer n.Stop(context.WithoutCancel(ctx))
//	err = n.LoadImage(ctx, "operator.tar")   // in a pod: imagePullPolicy: Never, or any tag that is not latest
//	err = n.Kubectl(ctx, "apply", "-f", "...").Run()
//
// When the process that started a node ends, by SIGKILL too, the kernel ends all of the node's processes and with them
// its mounts and links. What then remains are empty cgroups and a directory; the next [Start] with the same directory, or
// [Clear], removes them.
package node
