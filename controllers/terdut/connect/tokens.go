package connect

import (
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// longestWait bounds what a refused pass is told to wait: what is free by
	// then may be more than was foreseen.
	longestWait = 10 * time.Second
	// reserved is how long a token is kept for a namespace beyond the time at
	// which it was told to come.
	reserved = 2 * time.Second
)

// tokens is the token bucket of one server. Namespaces get its tokens in turn:
// one that was refused has the next token that nobody before it has, and what
// comes from a namespace that has just had one stands behind it.
//
// Half of the bucket is set aside for namespaces that have been quiet. What a
// crowd has begun is charged to the bucket before it has the tokens for it, and
// a single object of somebody else must not wait until that debt is paid. What
// is set aside fills up at half of the rate, so that the quiet ones, however
// many, leave the other half to those who wait.
//
// Nobody waits in here; who is refused is told when to come again. It is owned
// by its session and safe for concurrent use.
type tokens struct {
	now func() time.Time

	mu     sync.Mutex
	bucket *rate.Limiter
	// aside is what only quiet namespaces may take. Its tokens are in the bucket
	// too.
	aside *rate.Limiter
	// spent has a bucket for each namespace that has taken tokens of late. While
	// there is something in it the namespace is quiet.
	spent map[string]*rate.Limiter
	// turns are the namespaces for which a token is kept, the next one first.
	turns []turnOf
	// promised is up to when the passes of a namespace were told to come, so
	// that they do not come all at once.
	promised map[string]time.Time
}

// turnOf is the place of one namespace.
type turnOf struct {
	namespace string
	// until is when the place is given up because nobody came.
	until time.Time
}

// quietShare is which part of the rate, and of the burst, a namespace may take
// and still be quiet.
const quietShare = 4

func newTokens(qps float64, burst int, now func() time.Time) *tokens {
	return &tokens{
		now: now, bucket: rate.NewLimiter(rate.Limit(qps), burst), aside: rate.NewLimiter(rate.Limit(qps/2), burst/2),
		spent: map[string]*rate.Limiter{}, promised: map[string]time.Time{},
	}
}

// take takes a token for a namespace. If there is none for it, the answer is
// how long to stay away, which is never zero.
func (t *tokens) take(namespace string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	t.turns = slices.DeleteFunc(t.turns, func(p turnOf) bool { return p.until.Before(now) })
	place := slices.IndexFunc(t.turns, func(p turnOf) bool { return p.namespace == namespace })
	need := float64(place + 1)
	if place < 0 {
		need = float64(len(t.turns) + 1)
	}
	need += float64(t.aside.Burst())
	if t.takeAside(namespace, now) || t.bucket.TokensAt(now) >= need && t.bucket.AllowN(now, 1) {
		if place >= 0 {
			t.turns = slices.Delete(t.turns, place, place+1)
		}
		t.spend(namespace, now)
		return 0
	}
	at := t.promise(namespace, now, need)
	if place < 0 {
		t.turns = append(t.turns, turnOf{namespace: namespace, until: at.Add(reserved)})
	}
	return at.Sub(now)
}

// takeAside takes a token from what is set aside, if the namespace may.
func (t *tokens) takeAside(namespace string, now time.Time) bool {
	return t.quiet(namespace, now) && t.bucket.TokensAt(now) >= 1 && t.aside.AllowN(now, 1) && t.bucket.AllowN(now, 1)
}

func (t *tokens) quiet(namespace string, now time.Time) bool {
	own, ok := t.spent[namespace]
	return !ok || own.TokensAt(now) >= 1
}

// spend takes note that a namespace has had a token.
func (t *tokens) spend(namespace string, now time.Time) {
	for other, own := range t.spent {
		if own.TokensAt(now) >= float64(own.Burst()) {
			delete(t.spent, other)
		}
	}
	own, ok := t.spent[namespace]
	if !ok {
		own = rate.NewLimiter(t.bucket.Limit()/quietShare, max(t.bucket.Burst()/quietShare, 1))
		t.spent[namespace] = own
	}
	own.ReserveN(now, 1)
}

// promise is the time at which a pass of a namespace is to come: the first one
// when its token is there, each further one a turn of all namespaces later.
func (t *tokens) promise(namespace string, now time.Time, need float64) time.Time {
	perToken := time.Duration(float64(time.Second) / float64(t.bucket.Limit()))
	first := now.Add(max(time.Duration((need-t.bucket.TokensAt(now))*float64(perToken)), perToken, time.Millisecond))
	at := first
	if last, ok := t.promised[namespace]; ok && last.After(now) {
		at = last.Add(perToken * time.Duration(max(len(t.turns), 1)))
	}
	switch {
	case at.Before(first):
		at = first
	case at.Sub(now) > longestWait:
		at = first // round again: some of those before may be gone by then
	}
	for other, last := range t.promised {
		if last.Before(now) {
			delete(t.promised, other)
		}
	}
	t.promised[namespace] = at
	return at
}

// charge takes a token that may not be there yet: for the rest of a pass that
// has begun, which would otherwise have begun for nothing. Who comes later pays.
func (t *tokens) charge(namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	t.bucket.ReserveN(now, 1)
	if t.quiet(namespace, now) {
		t.aside.ReserveN(now, 1)
	}
	t.spend(namespace, now)
}
