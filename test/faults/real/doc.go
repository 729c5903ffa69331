// Package real plays scenarios of package faults on a real API server, with the
// real garbage collector and namespace controller, and the operator's manager as
// it runs in a pod: its caches, its queues, its workers side by side.
//
// Many runs share one control plane. Each believes that it has it for itself: a
// mask on the way to the API server gives every namespace of a run a suffix, and
// takes it off and leaves other runs out in whatever comes back. So operator,
// people and oracles see the names that the scenario uses, and effects have the
// labels that they have in memory.
//
// Requests are interrupted where they leave the process. A crash lets nothing
// more of that manager through, ends it, and starts another one with an empty
// cache. The clock of operator and servers is the real one; where nothing is left
// to do but to wait for the end of a grace, it is turned on.
//
// What goes wrong with the operator's views of the past is for package faults
// alone: here the caches are the real ones.
package real
