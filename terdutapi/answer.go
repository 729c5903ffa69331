package terdutapi

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const (
	maxMessage    = 200 // characters of a server's error that are kept
	maxRetryAfter = time.Hour
)

// check returns nil for a success that follows the API, else the error that it is.
func check(op operation, resp *http.Response, body []byte, key string) error {
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		media = ""
	}
	status := resp.StatusCode
	switch {
	case len(body) > MaxBody && status < 500:
		return op.fail(status, "the body is larger than 1 MiB")
	case status >= 200 && status < 300:
		return checkSuccess(op, status, media, body)
	case status < 400:
		return op.fail(status, "a redirect that is not followed")
	}
	failure := &Error{Method: op.method, Path: op.path, Status: status, RetryAfter: retryAfter(resp.Header)}
	message, isJSON := errorMessage(media, body)
	failure.Message = tidy(message, key)
	switch {
	case isJSON, status >= 500, status == http.StatusTooManyRequests:
	case routeMissing(status, media, body):
		failure.RouteMissing = true
	default:
		failure.unexpected = "the body is not the JSON error of a terdut-server"
	}
	return failure
}

func checkSuccess(op operation, status int, media string, body []byte) error {
	switch {
	case status == http.StatusPartialContent:
		return op.fail(status, "a part of the answer, where the whole of it belongs")
	case op.path == pathHealth:
		// The body of a health answer is no contract, but a page is somebody else's.
		if media == "text/html" {
			return op.fail(status, "a page, not a health answer")
		}
	case len(body) == 0:
	case media != "application/json":
		return op.fail(status, "the content type is not application/json")
	case !json.Valid(body):
		return op.fail(status, "the body is not valid JSON")
	}
	return nil
}

// errorMessage returns the error string of a JSON error, and whether the body is one.
func errorMessage(media string, body []byte) (string, bool) {
	if media != "application/json" {
		return "", false
	}
	var failure struct {
		Error *string `json:"error"`
	}
	if err := json.Unmarshal(body, &failure); err != nil || failure.Error == nil {
		return "", false
	}
	return *failure.Error, true
}

// routeMissing recognises the answer of Go's routers for a path or method that they do not have.
func routeMissing(status int, media string, body []byte) bool {
	text := string(bytes.TrimSpace(body))
	switch status {
	case http.StatusNotFound:
		return media == "text/plain" && text == "404 page not found"
	case http.StatusMethodNotAllowed:
		return text == "" || media == "text/plain" && text == "Method Not Allowed"
	default:
		return false
	}
}

var keyLike = regexp.MustCompile(`[0-9A-Fa-f]{32,}`)

// tidy makes a server's words fit to be shown: without the caller's key and anything that looks like one (before
// the cut, which could leave half of it), printable, at most maxMessage characters.
func tidy(message, key string) string {
	if key != "" {
		message = strings.ReplaceAll(message, key, "[key]")
	}
	message = keyLike.ReplaceAllString(message, "[key]")
	var b strings.Builder
	kept := 0
	for _, r := range message {
		if kept == maxMessage {
			break
		}
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			continue
		}
		b.WriteRune(r)
		kept++
	}
	return b.String()
}

// retryAfter reads the header in both of its forms, seconds and a date.
func retryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if value == "" {
		return 0
	}
	wait := time.Duration(0)
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if date, dateErr := http.ParseTime(value); dateErr == nil {
		wait = time.Until(date)
	}
	return min(max(wait, 0), maxRetryAfter)
}

// checked is an answer that can tell whether what it must hold is there.
type checked interface{ complete() bool }

// object reads one value.
func object[T checked](resp *http.Response, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	value := new(T)
	if err = decode(resp, value); err != nil {
		return nil, err
	}
	if !(*value).complete() {
		return nil, opOf(resp).fail(resp.StatusCode, "an id or another required value is missing")
	}
	return value, nil
}

// array reads a list; an empty list is not nil.
func array[T checked](resp *http.Response, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	var values []T
	if err = decode(resp, &values); err != nil {
		return nil, err
	}
	switch {
	case values == nil:
		return nil, opOf(resp).fail(resp.StatusCode, "null where a list belongs")
	case isPage(resp.Header, len(values)):
		return nil, opOf(resp).fail(resp.StatusCode, "one page of a longer list, where the whole list belongs")
	}
	for _, value := range values {
		if !value.complete() {
			return nil, opOf(resp).fail(resp.StatusCode, "an element lacks its id or another required value")
		}
	}
	return values, nil
}

// isPage recognises a list of which there is more: what stands on the next page would read as absent. The API has no
// pages, so these are the ways in which others tell of theirs.
func isPage(header http.Header, shown int) bool {
	if header.Get("X-Next-Page") != "" {
		return true
	}
	for _, links := range header.Values("Link") {
		if nextLink.MatchString(links) {
			return true
		}
	}
	for _, name := range []string{"X-Total-Count", "X-Total"} {
		if total, err := strconv.Atoi(header.Get(name)); err == nil && total > shown {
			return true
		}
	}
	return false
}

var nextLink = regexp.MustCompile(`(?i);\s*rel\s*=\s*"?(?:[a-z ]* )?next\b`)

// anything expects success, in whatever words: of calls that change nothing which somebody relies on. That a page is no
// answer was seen to before.
func anything(resp *http.Response, err error) error {
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// nothing expects success and reads no value. What comes along has to be an object, and none that tells of an error:
// "[]" or a page of JSON is somebody else's idea of an answer.
func nothing(resp *http.Response, err error) error {
	if err != nil {
		return err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || len(body) == 0 {
		return err
	}
	var said map[string]json.RawMessage
	if json.Unmarshal(body, &said) != nil || said == nil || said["error"] != nil {
		return opOf(resp).fail(resp.StatusCode, "something else than a success")
	}
	return nil
}

// decode never passes on an error of encoding/json, which quotes the body.
func decode(resp *http.Response, into any) error {
	body, err := io.ReadAll(resp.Body)
	if err != nil || len(body) == 0 {
		return opOf(resp).fail(resp.StatusCode, "the body is empty")
	}
	if err = json.Unmarshal(body, into); err != nil {
		return opOf(resp).fail(resp.StatusCode, "the JSON has another shape")
	}
	return nil
}

func opOf(resp *http.Response) operation {
	if body, ok := resp.Body.(*answer); ok {
		return body.op
	}
	return operation{}
}
