// Package faults interrupts the operator at every one of its effects, in every
// way, and checks that it always ends as if nothing had happened.
//
// A [Scenario] is what people do, in steps. A [Run] plays it: the operator's own
// controllers (package operator) on a small API server (package world) and on
// the reference server, in one goroutine and on a clock that only runs when
// nothing else does. The first run of a scenario is undisturbed and is the
// reference: it says how everything has to look in the end and which effects
// there are. Each further run has one fault or two (package inject): after a
// crash a new incarnation goes on with an empty memory.
//
// Six oracles judge each run, always all of them; see [Oracles]. What cannot be
// survived on today's wire is a declared allowance, printed with the figures.
//
// The campaign is `make campaign`; `make test` runs its singles. A failure prints
// the line that repeats it alone.
package faults
