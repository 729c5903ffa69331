// Package apply makes the children of an object what they should be, by server-side apply. It knows no kind: children
// come as apply configurations and are compared by the schema of their kind.
//
// A pass ([Engine.Converge]) goes over the children in the order in which they are given:
//
//  1. Every intent is checked here first: the API server answers a duplicate list key with a 500 without a reason.
//  2. What we own of the cached object is extracted and compared with the intent. If they are equal, there is no request.
//  3. Otherwise the object is read live and compared again. A cache that lags must not be mistaken for drift, nor an
//     object that it does not hold for an absent one.
//  4. An object that is not ours is refused and left alone. It is ours when its controller is the owner, or when it has
//     no controller and the record bears its UID.
//  5. The intent is applied without force. A conflict over fields is decided in one place (conflicts.go) and ends in at
//     most one more request.
//  6. What is recorded and no longer wanted is deleted, if owner reference and record agree that it is ours.
//
// # Identity
//
// An apply to an object that was seen carries its UID: without it, an apply that comes late would make a deleted object
// again. The API server checks the UID against the object it finds, also when it finds none. A resourceVersion is
// checked only against an object that exists; on an absent one it is ignored. So an apply that is meant to create carries
// a resourceVersion that no object can have: it creates, or it fails, and never merges into an object that somebody made
// after we looked. Both failures, and the ones of a delete's preconditions, are a [LookAgain].
//
// # Drift
//
// The owner's status remembers a hash of the last applied intent of each child ([Record]). When the hash is still today's
// and the object differs, somebody else changed it: that is drift, and the change is [Corrected]. When the hash differs,
// the wish has changed: [Updated]. The names of the changed fields and of who changed them are reported, values never.
//
// # What it needs
//
// The cache of the client must keep managedFields for the kinds of the children. Without them every pass costs a live
// read of each child. It must also hand out copies, which is its default.
//
// All methods may be called concurrently, for different owners.
package apply
