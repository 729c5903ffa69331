package localnode

import (
	"context"
	"fmt"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// retryInterval is the time between two attempts at something that the API server refused.
const retryInterval = time.Second

// register makes the Node object, or takes over the one of an earlier run, and reports it ready.
func (n *Node) register(ctx context.Context) error {
	nodes := n.client.CoreV1().Nodes()
	name := n.options.NodeName
	node, err := nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:   name,
		Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: runtime.GOOS, corev1.LabelArchStable: runtime.GOARCH},
	}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		node, err = nodes.Get(ctx, name, metav1.GetOptions{})
	}
	if err != nil {
		return fmt.Errorf("register node %q: %w", name, err)
	}
	room := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("64"),
		corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods:   resource.MustParse("1000"),
	}
	now := metav1.Now()
	node.Status.Capacity, node.Status.Allocatable = room, room
	node.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: nodeAddress}, {Type: corev1.NodeHostName, Address: name},
	}
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "pods run as local processes",
		LastHeartbeatTime: now, LastTransitionTime: now,
	}}
	if _, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("report node %q ready: %w", name, err)
	}
	return nil
}

// watch connects the informers' events. running ends with the node.
func (n *Node) watch(running context.Context, factory informers.SharedInformerFactory) error {
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { n.observe(running, object) },
		UpdateFunc: func(_, object any) { n.observe(running, object) },
		DeleteFunc: func(object any) { n.forget(object) },
	})
	if err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	// A container that waits for its configuration is tried again when that may have appeared. Deletions change nothing: a
	// running process keeps what it was started with.
	wake := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { n.wake(object) },
		UpdateFunc: func(_, object any) { n.wake(object) },
	}
	if _, err = factory.Core().V1().Secrets().Informer().AddEventHandler(wake); err != nil {
		return fmt.Errorf("watch secrets: %w", err)
	}
	if _, err = factory.Core().V1().ConfigMaps().Informer().AddEventHandler(wake); err != nil {
		return fmt.Errorf("watch configmaps: %w", err)
	}
	return nil
}

// observe binds a pod that has no node, and hands one that has this node to its worker.
func (n *Node) observe(running context.Context, object any) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopped {
		return
	}
	switch pod.Spec.NodeName {
	case "":
		if pod.DeletionTimestamp == nil && len(pod.Spec.SchedulingGates) == 0 && !n.binding[pod.UID] {
			n.binding[pod.UID] = true
			n.running.Go(func() { n.bind(running, pod) })
		}
	case n.options.NodeName:
		if known := n.workers[pod.UID]; known != nil {
			known.update(pod)
			return
		}
		n.addresses++
		w := newWorker(n, pod, fmt.Sprintf("192.0.2.%d", 2+n.addresses%250))
		n.workers[pod.UID] = w
		n.running.Go(func() {
			w.run(running)
			n.mu.Lock()
			delete(n.workers, pod.UID)
			n.mu.Unlock()
		})
	}
}

// bind gives the pod this node, as a scheduler would.
func (n *Node) bind(ctx context.Context, pod *corev1.Pod) {
	defer func() {
		n.mu.Lock()
		delete(n.binding, pod.UID)
		n.mu.Unlock()
	}()
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: n.options.NodeName},
	}
	for {
		err := n.client.CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
		// Gone, or bound by somebody else.
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return
		}
		n.say("bind pod %s/%s: %v", pod.Namespace, pod.Name, err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryInterval):
		}
	}
}

// forget ends the processes of a pod that was deleted without waiting for them.
func (n *Node) forget(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if w := n.workers[pod.UID]; w != nil {
		w.gone()
	}
}

// wake tells the pods of the object's namespace that a value may have changed.
func (n *Node) wake(object any) {
	meta, ok := object.(metav1.Object)
	if !ok {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, w := range n.workers {
		if w.pod.Load().Namespace == meta.GetNamespace() {
			w.wake()
		}
	}
}
