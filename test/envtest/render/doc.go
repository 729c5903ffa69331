// Package render tries what a TerdutServer is rendered to on a real API server
// with the controllers that make pods: every knob of the pod, the route, what
// is told of pods that do not start, Pod Security, and the takeover of what
// Helm made. test/localnode plays the kubelet. The operator runs as a user that
// has the generated role and nothing else.
package render
