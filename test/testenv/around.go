package testenv

import "net/http"

// Around is asked in place of every request of the operator, to the API server
// and to servers; send sends it. It is called from several goroutines.
type Around func(req *http.Request, send func() (*http.Response, error)) (*http.Response, error)

// Surround exchanges what is asked; nil lets every request through.
func (e *Env) Surround(a Around) {
	if a == nil {
		e.around.Store(nil)
		return
	}
	e.around.Store(&a)
}

func (e *Env) surrounded(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if around := e.around.Load(); around != nil {
			return (*around)(req, func() (*http.Response, error) { return next.RoundTrip(req) })
		}
		return next.RoundTrip(req)
	})
}
