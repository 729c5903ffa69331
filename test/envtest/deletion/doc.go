// Package deletion proves on a real API server that deletion always ends, or
// says exactly why it does not. Its matrix runs every way in which something
// that lives on a server can be deleted against every state that the server and
// the operator's key can be in; the other specs are what a matrix of settled
// objects cannot show.
package deletion
