// Package world is a small API server in memory, for tests that interrupt the
// operator at every one of its writes: thousands of runs, each in milliseconds,
// each the same again.
//
// It does what the real API server does wherever identity and ownership are
// proved: it gives UIDs, resourceVersions and generations; checks both of the
// former where a request carries them; merges server-side applies with the real
// field manager and the real schemas; leaves the resourceVersion alone when
// nothing changes; keeps finalizers of others and objects that are waited for;
// fills in the defaults of the custom resource definitions and drops what they
// do not know; refuses creations in namespaces that are going. Deleting a
// namespace and collecting garbage are steps that the test takes.
//
// It does not do what no test here rests on: admission, the validation rules of
// the definitions, defaults of built-in kinds, dry runs, generated names, pages.
// test/envtest/faults replays one list of requests on it and on a real API
// server and compares the answers code by code.
//
// Every version of every object is kept, so that a [View] can show the past, as
// a cache does that lags. A World is for one goroutine at a time, as the code
// under test in a deterministic run is; its lock only protects goroutines that
// the code starts by itself.
package world
