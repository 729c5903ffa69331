// Package transitions walks the schemas of the custom resources and changes every
// field of a living object: to another value, away, to its zero, and beyond its
// bounds. What is reached by a change must be what a new object with the same spec
// becomes, and the way back must lead to where it began. testdata has values for
// every field; a field without values fails by its name.
package transitions
