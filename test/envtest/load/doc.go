// Package load measures the whole operator under load on a real API
// server, against a reference server in the same process: what a thousand
// settled objects cost, what a dead server costs, and what one tenant costs
// another.
//
// LOAD_OBJECTS in the environment makes it smaller; the figures are published
// for the full size only.
package load
