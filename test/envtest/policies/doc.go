// Package policies shows on the real API server what people can ask of a
// resource beside its spec: that its object stays on the server when it goes,
// that it is let go without a call, that nothing is done for it, and that it is
// looked at now.
package policies
