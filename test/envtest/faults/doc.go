// Package faults compares the world of the fault campaigns with a real API
// server: the same requests, the answers code by code.
package faults
