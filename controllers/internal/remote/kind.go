// Package remote drives custom resources whose truth lives behind a REST API.
//
// One loop serves every kind. It reads (the resource, what it refers to, a
// fresh list from the server), decides purely what the next single effect is
// (decide.go), carries that one out, and decides again. What has to outlive a
// crash is written into the resource's status before the effect that needs it,
// with the resourceVersion it was computed from, so that of two incarnations
// only one can go on. A kind says what should be there and how to call its
// server; it never says in which order.
package remote

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What the errors of a kind's calls may match. Every other error says nothing
// about the object.
var (
	// ErrAbsent: the server has proved that the object is not there.
	ErrAbsent = errors.New("absent on the server")
	// ErrConflict: the server has refused a name that is in use.
	ErrConflict = errors.New("name in use on the server")
)

// Place is where an object lives.
type Place struct {
	Server    types.NamespacedName
	ServerUID types.UID
	// TeamID is the parent on the server; 0 for an object that has none.
	TeamID int64
}

// Record is the object on the server that a resource holds.
type Record struct {
	Place
	ID        int64
	CreatedAt string
	// Name as the server gave it last. AskedName is the one that was asked for,
	// where the server spells it differently. Both are empty for a Singleton.
	Name, AskedName string
	OwnerUID        types.UID
	Adopted         bool
}

// Candidate is an object of the wanted name that nobody holds and that may be
// taken over with somebody's leave.
type Candidate struct {
	ID   int64
	Name string
}

// Adoption says whether an object that was there before may be taken over.
type Adoption struct {
	// Allowed: if nobody holds it, it is taken over.
	Allowed bool
	// Askable: somebody can allow it, who has to learn of it.
	Askable bool
	// Otherwise says what to do where it is not allowed, to end a message with.
	Otherwise string
}

// Pending is the intent to create one object.
type Pending struct {
	// OwnerUID is the UID of the resource whose intent it is.
	OwnerUID     types.UID
	Name         string
	ID, Replaces int64
	// Rotate is the token that the creation answers.
	Rotate string
}

// Retired is an object of ours that was replaced and waits for its deletion.
type Retired struct {
	ID          int64
	CreatedAt   string
	DeleteAfter time.Time
}

// State is everything that a resource's status remembers.
type State[D any] struct {
	Record   *Record
	Pending  *Pending
	Retiring []Retired
	// Applied is the body that was sent last, for kinds whose objects cannot
	// be changed in place.
	Applied *D
	// Candidate is what the resource would take over if it were allowed to.
	Candidate *Candidate
	// Rotated is the token that was last acted on.
	Rotated string

	Conditions         []metav1.Condition
	ObservedGeneration int64
	// Reconciled is the last token for which everything was looked at anew.
	Reconciled string
}

// Want is an object as it should be.
type Want[D any] struct {
	Name string
	Body D
}

// Thing is an object as the server shows it, its body in the same form as the
// wanted one.
type Thing[D any] struct {
	ID        int64
	Name      string
	CreatedAt string
	Body      D
	// KeyLost is true when the object has handed out a key that we do not hold.
	KeyLost bool
	// KeyHeld is true when the object has handed out a key that we do hold, which
	// proves that it is ours.
	KeyHeld bool
	// Empty is true for a singleton that nobody has filled.
	Empty bool
	// Yield is what only the answer to the create call holds, or the same from
	// somebody who has kept it. It goes to Publish and nowhere else.
	Yield any
}

// IDs are the IDs of things.
func IDs[D any](things []Thing[D]) []int64 {
	out := make([]int64, 0, len(things))
	for i := range things {
		out = append(out, things[i].ID)
	}
	return out
}

// Difference is what separates an object from the wanted one, its name aside.
type Difference struct {
	// Fields that differ, as paths in the resource's spec.
	Fields []string
	// Replace is true when the server cannot change them in place.
	Replace bool
}

// None tells whether there is no difference.
func (d Difference) None() bool { return len(d.Fields) == 0 }

// Naming says how a kind recognises what it has begun to create.
type Naming int

const (
	// Provisional objects are created under a name that bears a mark of the
	// resource and renamed when everything else is done.
	Provisional Naming = iota
	// Final objects cannot be renamed: they are created under their own name.
	Final
	// Singleton objects are always there, one at each place.
	Singleton
)

// Freshness says how old a read of the server may be.
type Freshness int

const (
	// Snapshot may be as old as a resync, and is shared by everybody who asks.
	// It is good for one thing: to say that nothing has drifted.
	Snapshot Freshness = iota
	// Fresh was sent after it was asked for. Everything that leads to an effect
	// rests on it.
	Fresh
)

// Kind is what the loop asks of a kind. A is its access to one place on one
// server, D the body of its objects in a normalised form.
type Kind[T client.Object, A, D any] interface {
	// Resolve follows the references of obj, asks for consent, and returns
	// access. It reads only. What is missing or refused is an outcome.
	Resolve(ctx context.Context, obj T) (Place, A, error)
	// Recorded returns access to where obj has recorded something, whatever
	// its references and the consent say today. It is for deletion only. Where
	// nobody can clean up any more, or nobody is to, the answer is a [Release].
	Recorded(ctx context.Context, obj T) (Place, A, error)
	// Desired says what should be there. It reads only; what it reads of the
	// server is as fresh as that.
	Desired(ctx context.Context, api A, obj T, as Freshness) (Want[D], error)
	// List returns every object of the kind at the place, as fresh as that.
	List(ctx context.Context, api A, obj T, as Freshness) ([]Thing[D], error)
	// Compare tells what separates two bodies. It is pure.
	Compare(want, got D) Difference
	// Create makes an object.
	Create(ctx context.Context, api A, obj T, want Want[D]) (Thing[D], error)
	// Publish hands on what only the create answer holds.
	Publish(ctx context.Context, api A, obj T, made Thing[D]) error
	// Update changes what differs in name and body, and nothing else.
	Update(ctx context.Context, api A, obj T, want Want[D], got Thing[D]) (Thing[D], error)
	// Delete deletes an object; a singleton is emptied. What cannot be deleted
	// and shall not hold the resource back is a [Release].
	Delete(ctx context.Context, api A, obj T, id int64) error
	// Load reads the state out of the status of obj.
	Load(obj T) State[D]
	// Store writes the state, and what follows from it, into the status of obj.
	Store(obj T, s State[D])
	// Status is the whole status of obj as an apply configuration with the UID
	// and resourceVersion of obj.
	Status(obj T) (runtime.ApplyConfiguration, error)
}
