// Package faults interrupts the operator at every one of its effects, in every
// way, and checks that it always ends as if nothing had happened.
//
// A [Scenario] is what people do, in steps. A [Run] plays it: the operator's own
// controllers (package operator) on a small API server (package world) and on
// the reference server, in one goroutine and on a clock that only runs when
// nothing else does. The first run of a scenario is undisturbed and is the
// reference: it says how everything has to look in the end, and where something
// can go wrong. In each further run one thing does, or two (package inject): at a
// write, at a question, at a change that the operator does not hear of, or with
// what its cache shows. After a crash a new incarnation goes on with an empty
// memory.
//
// Six oracles judge each run, always all of them; see [Run.oracles]. What cannot
// be survived on today's wire is a declared allowance, printed with the figures.
//
// A plan is left out where it makes no difference: a list that is empty shown
// empty, a change hidden that no cache holds. None is left out because nothing
// was written after it in the undisturbed run: a write that a wrong view brings
// about is what is looked for.
//
// The campaign is `make campaign`; `make test` runs every write in each way and a
// sample of the rest. A failure prints the line that repeats it alone.
package faults
