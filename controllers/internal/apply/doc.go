// Package apply makes the children of an object what they should be, by server-side apply. It knows no kind: children
// come as apply configurations and are compared by the schema of their kind. What it must know of the kinds of Kubernetes
// is data: yieldable fields (yield.go), immutable fields (immutable.go) and defaults that stand in the way (own.go).
//
// A pass ([Engine.Converge]) goes over the children in the order in which they are given:
//
//  1. Every intent is checked here first: the API server answers a duplicate list key with a 500 without a reason.
//  2. What we own of the cached object is extracted and compared with the intent. If they are equal, there is no request.
//  3. Otherwise the object is read live and compared again. A cache that lags must not be mistaken for drift, nor an
//     object that it does not hold for an absent one.
//  4. An object that is not ours is refused and left alone. It is ours when its controller is the owner, or when it has
//     no controller and the record bears its UID.
//  5. Fields that cannot change are compared: what the API server says about one is prose.
//  6. The intent is applied without force. A conflict over fields is decided for each path and ends in at most one more
//     request.
//  7. What is recorded and no longer wanted is deleted, if owner reference and record agree that it is ours.
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
// # Other managers
//
// What is not in the intent belongs to others and is never touched. What is in it is ours and is taken back, by force if
// another manager has it, with two exceptions:
//
// A yieldable field ([DefaultYieldable]) is left to a manager that gave it another value, with whatever that manager
// removed beside it: it is taken out of the intent and is in Report.Ceded. That is decided from the managedFields of the
// object alone, so it costs no request and holds across restarts. When the manager lets the field go, or sets it to what
// is wanted, it is ours again: [Reclaimed].
//
// A field that one manager takes back five times in ten minutes is contested, and in Report.Contested: from then on it is
// repaired once per resync, and left alone in between. It calms down when it stays as repaired for a resync. That is
// remembered in the process; a restart begins to count anew.
//
// # managedFields
//
// They say what is ours. When they are cleared, the next apply makes everything that there is the property of
// "before-first-apply" too, and nothing that is co-owned so can ever be removed. So they are restored first, for the fields
// of the intent that are as wanted; that is no drift, and the child is in Report.Reowned. They are written in two more
// cases: to remove a default that the API server refuses beside the intent (a rolling update beside the strategy
// Recreate), and by [Engine.TakeOver]. All these writes mean exactly one version of the object.
//
// # Takeover
//
// [Engine.TakeOver] makes the objects of a Helm release children, when the user asks for it. Helm's fields become ours by
// a patch of managedFields; then the intent is applied like any other. Nothing is deleted, and pods stay when the template
// is equal.
//
// # What it needs
//
// The cache of the client must keep managedFields for the kinds of the children. Without them every pass costs a live
// read of each child. It must also hand out copies, which is its default. The operator needs the verb patch for the kinds
// of the children.
//
// All methods may be called concurrently, for different owners.
package apply
