// Package modes tries what the namespaces of teams get of keys: every mode,
// every change from one to another, and who is left alone.
package modes
