// Package badinput runs the operator against servers that answer what no
// server should: pages, fragments, lists that lack what they had, the ids of
// another API. On a real API server, and over real connections: a proxy stands in
// front of the reference server and spoils its answers. Whatever comes, nothing
// is made twice, nothing is deleted that should stay, nothing is told that is
// not so, and nobody asks in a hot loop.
package badinput
