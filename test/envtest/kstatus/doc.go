// Package kstatus asks kstatus, and with it Argo CD, Flux and kubectl wait,
// about objects of every kind as a real API server has them: before the operator
// has seen them, and in the states through which they go.
package kstatus
