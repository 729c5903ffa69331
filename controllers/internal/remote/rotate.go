package remote

import (
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// token is what asks for a new object now; empty when nothing does.
func (v *visit[T, A, D]) token() string {
	if v.Rotate == nil {
		return ""
	}
	return v.Rotate(v.obj)
}

// rotates tells whether the token was not acted on yet.
func (p *pass[T, A, D]) rotates() bool {
	token := p.token()
	return token != "" && token != p.state.Rotated
}

// acknowledge remembers which token was acted on. It is the one of the intent:
// what asks after that wants an object made after that. An object that is taken
// over as it is answers the token that stands there: a status that was lost must
// not exchange the key of an object which comes back.
func (p *pass[T, A, D]) acknowledge(pending *Pending, adopted bool) {
	switch {
	case pending != nil && pending.Rotate != "":
		p.state.Rotated = pending.Rotate
	case pending == nil && adopted:
		p.state.Rotated = p.token()
	}
}

// whyReplace says why the object id is replaced, as the end of a sentence.
func (p *pass[T, A, D]) whyReplace(id int64) string {
	t := p.thing(id)
	if t == nil {
		return ""
	}
	switch diff := p.compare(*t); {
	case diff.Replace && !diff.None():
		return ", because its " + strings.Join(sortedFields(diff.Fields), ", ") + " changed"
	case p.rotates():
		return ", as was asked for"
	case t.KeyLost:
		return ", because its key was lost"
	default:
		return ""
	}
}

// endOfGrace is when an object that is replaced now may be deleted, in whole
// seconds, as a status keeps them: not before the grace is over, and at once
// when there is none.
func (v *visit[T, A, D]) endOfGrace() time.Time {
	grace := time.Duration(0)
	if v.Grace != nil {
		grace = v.Grace(v.obj)
	}
	if grace > 0 {
		grace += time.Second - time.Nanosecond
	}
	return v.Now().Add(grace).UTC().Truncate(time.Second)
}

// noLaterThanDue brings the next pass forward to the moment at which a retired
// object is to be deleted. One that is overdue does not count: what holds it up
// has its own time.
func (v *visit[T, A, D]) noLaterThanDue(result reconcile.Result) reconcile.Result {
	for _, old := range v.Kind.Load(v.obj).Retiring {
		if wait := old.DeleteAfter.Sub(v.Now()); wait > 0 && result.RequeueAfter > 0 {
			result.RequeueAfter = min(result.RequeueAfter, wait)
		}
	}
	return result
}
