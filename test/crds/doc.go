// Package crds holds stubs of other projects' custom resources, so that tests can install them without those projects.
// Each has the fields that the operator reads, in the shape of the real one; the test of this package compares the two
// where the real definitions are at hand.
package crds
