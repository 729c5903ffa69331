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
// Nobody waits in here; who is refused is told when to come again. It is owned
// by its session and safe for concurrent use.
type tokens struct {
	now func() time.Time

	mu     sync.Mutex
	bucket *rate.Limiter
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

func newTokens(qps float64, burst int, now func() time.Time) *tokens {
	return &tokens{now: now, bucket: rate.NewLimiter(rate.Limit(qps), burst), promised: map[string]time.Time{}}
}

// take takes a token for a namespace. If there is none for it, the answer is
// how long to stay away, which is never zero.
func (t *tokens) take(namespace string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	t.turns = slices.DeleteFunc(t.turns, func(p turnOf) bool { return p.until.Before(now) })
	place := slices.IndexFunc(t.turns, func(p turnOf) bool { return p.namespace == namespace })
	ahead := place
	if place < 0 {
		ahead = len(t.turns)
	}
	if t.bucket.TokensAt(now) >= float64(ahead+1) && t.bucket.AllowN(now, 1) {
		if place >= 0 {
			t.turns = slices.Delete(t.turns, place, place+1)
		}
		return 0
	}
	at := t.promise(namespace, now, ahead)
	if place < 0 {
		t.turns = append(t.turns, turnOf{namespace: namespace, until: at.Add(reserved)})
	}
	return at.Sub(now)
}

// promise is the time at which a pass of a namespace is to come: the first one
// when its token is there, each further one a turn of all namespaces later.
func (t *tokens) promise(namespace string, now time.Time, ahead int) time.Time {
	perToken := time.Duration(float64(time.Second) / float64(t.bucket.Limit()))
	first := now.Add(max(time.Duration((float64(ahead+1)-t.bucket.TokensAt(now))*float64(perToken)), perToken, time.Millisecond))
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
func (t *tokens) charge() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bucket.ReserveN(t.now(), 1)
}
