package connect

import "time"

// Limits bound what the operator asks of one server. A zero field means its
// default.
type Limits struct {
	// QPS is how many requests a second a server gets in the long run. Default
	// 50.
	QPS float64
	// Burst is how many it gets at once after a quiet time. Default 100.
	Burst int
	// Failures is how many requests in a row have to fail, each in a way that
	// any other would, until nothing but the probe is sent. Default 3.
	Failures int
	// ProbePause is the longest pause between two probes of a server that does
	// not answer; the first ones come sooner. Default 1s.
	ProbePause time.Duration
	// Window is how long a snapshot of a list is good for. Default 10m.
	Window time.Duration
	// Patience is how long a server may be silent before what lives on it says
	// so. Default 2m.
	Patience time.Duration
	// Call is how long one call may take, reading the answer included: nothing
	// blocks a reconcile for long. Default 10s.
	Call time.Duration
}

func (l Limits) orDefaults() Limits {
	l.QPS = orDefault(l.QPS, 50)
	l.Burst = orDefault(l.Burst, 100)
	l.Failures = orDefault(l.Failures, 3)
	l.ProbePause = orDefault(l.ProbePause, time.Second)
	l.Window = orDefault(l.Window, 10*time.Minute)
	l.Patience = orDefault(l.Patience, 2*time.Minute)
	l.Call = orDefault(l.Call, 10*time.Second)
	return l
}

func orDefault[N int | float64 | time.Duration](n, standard N) N {
	if n <= 0 {
		return standard
	}
	return n
}
