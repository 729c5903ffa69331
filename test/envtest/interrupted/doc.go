// Package interrupted plays the scenarios of the fault campaign on a real API
// server, interrupted at every effect in every way, and compares what is written
// there with what is written in memory.
package interrupted
