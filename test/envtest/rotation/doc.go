// Package rotation proves on a real API server what becomes of things that live
// on a server when they are changed: keys are exchanged, Secrets moved, switches
// made anew and policies rewritten, and the operator may end at any moment.
package rotation
