// Package cel holds the tests of what the API server alone guarantees: the validation rules of the custom resources,
// their defaults, limits and columns, the samples and the plain manifests. No controller runs.
//
// Every CEL rule of a kind has a group in the tables (cases_*_test.go) with objects that it must accept and objects that
// it must refuse; a rule without both fails the suite. Limits and required fields are read from the schema itself
// (limits_test.go), so that a new field is tried without a new test.
package cel
