// Package localnode plays kubelet, scheduler and Service routing where there is no node: it runs the pods of a real API
// server as local processes.
//
// It binds every pending pod to itself, starts the command that stands for the image with the environment that the pod's
// specification resolves to, probes it, writes the pod's status as a kubelet would, and ends it when the pod is deleted.
// Services are reached through a forward proxy on loopback, because the API refuses an EndpointSlice with a loopback
// address and nothing here routes cluster addresses.
//
// # Where it differs from a node
//
//   - There is no network namespace. Two pods cannot both listen on the port that their specifications name, so each
//     container is told to listen on a free loopback port, by one environment variable ([Options.ListenEnv]). That variable
//     and [Options.ExtraEnv] are all that a process has beyond its specification. All ports of a container lead to that
//     one address.
//   - A process has no variable of the parent, not even PATH, and none that a container runtime or a kubelet adds (HOSTNAME,
//     HOME, those of Services). Programs are found in the PATH of the test process, when they are started.
//   - An image is a command line of this machine. It replaces the first word of the container's command; the other words
//     and the container's args follow it.
//   - Security contexts, resources, the working directory, lifecycle hooks, node selectors, taints and affinities are
//     ignored. A process starts in an empty directory of its own.
//   - There is no mount namespace. A Secret volume is written into a directory when the container starts, and the mount
//     path is replaced by that directory in the values of the environment. All other volumes, and subPath, are ignored.
//   - Probes are httpGet and tcpSocket. A container with another kind, or with resourceFieldRef or fileKeyRef in its
//     environment, stays in CreateContainerConfigError. Periods and delays are capped ([Options.MaxProbePeriod]).
//   - Init containers run in order; a restartable one (a sidecar) is run as an ordinary container.
//   - podIP is an address of TEST-NET-1 in which nothing listens. There are no logs or exec through the API server.
package localnode
