package badinput_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// badAnswer is one way to answer badly.
type badAnswer struct {
	name string
	with spoiler
	// reason that objects give when every call is answered so.
	reason string
	// writesOnly is true for what only a call that changes something can get.
	writesOnly bool
	// needsBody is true for what is done to a body: a call that is answered
	// without one cannot be answered so.
	needsBody bool
	// listsOnly is true for what only a list can be, and sparesRules for what
	// an escalation policy, which has no IDs and is no list, survives.
	listsOnly, sparesRules bool
	// provesAbsence is true for the answer that, to a call about one object, is
	// the truth.
	provesAbsence bool
}

const (
	unexpected = v1alpha1.ReasonUnexpectedAnswer
	page       = "<!doctype html><title>Sign in</title><form action=/login>"
)

var badAnswers = []badAnswer{
	{name: "a 404 for the route", with: fixed(404, "text/plain; charset=utf-8", "404 page not found\n"), reason: v1alpha1.ReasonRouteMissing},
	{name: "a 404 for an object where there is none to name", with: fixed(404, "application/json", `{"error":"not found"}`), reason: unexpected, provesAbsence: true},
	{name: "a 404 that is a page", with: fixed(404, "text/html", page), reason: unexpected},
	{name: "a page with 200", with: fixed(200, "text/html", page), reason: unexpected},
	{name: "an empty list", with: fixed(200, "application/json", "[]"), reason: unexpected},
	{name: "null", with: fixed(200, "application/json", "null"), reason: unexpected},
	{name: "half of the JSON", with: half, reason: unexpected, needsBody: true},
	{name: "half of the body", with: cut, reason: unexpected, needsBody: true},
	{name: "a body without an end", with: endless, reason: unexpected},
	{name: "nothing for as long as the call may take", with: hang, reason: v1alpha1.ReasonServerUnreachable},
	{name: "a 401 in the middle", with: fixed(401, "application/json", `{"error":"unauthorized"}`), reason: v1alpha1.ReasonCredentialRejected},
	{name: "ids as strings", with: stringIDs, reason: unexpected, needsBody: true, sparesRules: true},
	{name: "the wrong content type", with: retyped, reason: unexpected, needsBody: true},
	{name: "the first of two pages, told by a Link", with: paged("Link", `<?page=2>; rel="next"`), reason: unexpected, needsBody: true, listsOnly: true, sparesRules: true},
	{name: "a part, told by a 206", with: partial, reason: unexpected, needsBody: true},
	{name: "a page in an envelope", with: enveloped, reason: unexpected, needsBody: true},
	{name: "a redirect to another host", with: redirect, reason: v1alpha1.ReasonRedirectRefused},
	{name: "a 409 after our own success", with: fixed(409, "application/json", `{"error":"name is taken"}`), writesOnly: true},
	{name: "a 422 after our own success", with: fixed(422, "application/json", `{"error":"no"}`), writesOnly: true},
	{name: "a 500 after our own success", with: fixed(500, "application/json", `{"error":"no"}`), writesOnly: true},
}

func fixed(status int, contentType, body string) spoiler {
	return func(w http.ResponseWriter, _ *http.Request, _ *httptest.ResponseRecorder) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // the caller may be gone
	}
}

// send sends the genuine answer with another status, type or body.
func send(w http.ResponseWriter, genuine *httptest.ResponseRecorder, status int, contentType string, body []byte) {
	if genuine.Body.Len() > 0 {
		w.Header().Set("Content-Type", contentType)
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the caller may be gone
}

func half(w http.ResponseWriter, _ *http.Request, genuine *httptest.ResponseRecorder) {
	body := genuine.Body.Bytes()
	send(w, genuine, genuine.Code, "application/json", body[:len(body)/2])
}

func cut(w http.ResponseWriter, _ *http.Request, genuine *httptest.ResponseRecorder) {
	body := genuine.Body.Bytes()
	if len(body) == 0 {
		w.WriteHeader(genuine.Code)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	send(w, genuine, genuine.Code, "application/json", body[:len(body)/2])
	_ = http.NewResponseController(w).Flush() // or nothing would be sent
	panic(http.ErrAbortHandler)
}

func endless(w http.ResponseWriter, r *http.Request, _ *httptest.ResponseRecorder) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	chunk := []byte(`[{"id":1,"name":"again"},{"id":1,"name":"and again"},`)
	for r.Context().Err() == nil {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

func hang(_ http.ResponseWriter, r *http.Request, _ *httptest.ResponseRecorder) {
	// Who has not read the body does not see the caller go.
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

var ids = regexp.MustCompile(`"((?:[a-z]+_)?id)":(\d+)`)

func stringIDs(w http.ResponseWriter, _ *http.Request, genuine *httptest.ResponseRecorder) {
	send(w, genuine, genuine.Code, "application/json", ids.ReplaceAll(genuine.Body.Bytes(), []byte(`"$1":"$2"`)))
}

func retyped(w http.ResponseWriter, _ *http.Request, genuine *httptest.ResponseRecorder) {
	send(w, genuine, genuine.Code, "text/plain; charset=utf-8", genuine.Body.Bytes())
}

func paged(header, value string) spoiler {
	return func(w http.ResponseWriter, _ *http.Request, genuine *httptest.ResponseRecorder) {
		w.Header().Set(header, value)
		body := genuine.Body.Bytes()
		if len(body) > 0 && body[0] == '[' {
			body = []byte("[]")
		}
		send(w, genuine, genuine.Code, "application/json", body)
	}
}

func partial(w http.ResponseWriter, _ *http.Request, genuine *httptest.ResponseRecorder) {
	status := genuine.Code
	if genuine.Body.Len() > 0 {
		status = http.StatusPartialContent
	}
	send(w, genuine, status, "application/json", genuine.Body.Bytes())
}

func enveloped(w http.ResponseWriter, _ *http.Request, genuine *httptest.ResponseRecorder) {
	body := genuine.Body.Bytes()
	if len(body) > 0 {
		body = fmt.Appendf(nil, `{"items":%s,"next":"cGFnZT0y"}`, body)
	}
	send(w, genuine, genuine.Code, "application/json", body)
}

func redirect(w http.ResponseWriter, _ *http.Request, _ *httptest.ResponseRecorder) {
	w.Header().Set("Location", "http://elsewhere.invalid/login")
	w.WriteHeader(http.StatusFound)
}

// refusal is a refusal that bears the mark of its request.
func refusal(try int) spoiler {
	return fixed(418, "application/json", fmt.Sprintf(
		`{"error":"not today (request_id: 7f3c-%04d, trace 4bf92f3577b34da6a3ce929d0e0e%04d) from 10.1.2.3:%d after %d.25ms"}`, try, try, 40000+try, try))
}
