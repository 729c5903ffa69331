// Package testenv is the world in which suites prove the operator on a real
// API server: a control plane, the operator as a user who has the generated
// role and nothing else, and reference servers that it reaches by the names of
// their Services, without a network.
package testenv
