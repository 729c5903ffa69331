package outcome

import "regexp"

// volatile are the parts of somebody else's words that differ from one try to
// the next though they say the same: a text with such a part in it would be
// news at every try.
var volatile = []*regexp.Regexp{
	// request_id=…, trace-id: …, (span 4f…), whatever they look like
	regexp.MustCompile(`(?i)\b(?:(?:x-)?(?:request|trace|span|correlation|transaction|incident|error|log)[-_ ]?(?:id|identifier|ref|reference))\b["']?\s*(?:[:=]|is)?\s*["']?[\w./+=-]*\d[\w./+=-]*`),
	regexp.MustCompile(`(?i)\b(?:request|req|trace|span)\b[-_ ]?[:=#]?\s*["']?[0-9a-f-]*\d[0-9a-f-]{5,}\b`),
	// a UUID, or a long hexadecimal number with a digit in it
	regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`),
	regexp.MustCompile(`(?i)\b(?:0x)?[a-f]*\d[0-9a-f]{11,}\b`),
	// a point in time
	regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z| ?[+-]\d\d:?\d\d)?`),
	regexp.MustCompile(`\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b`),
	// an address with a port
	regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}:\d+\b`),
	regexp.MustCompile(`\[[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(?:%\w+)?\]:\d+`),
	// how long something took
	regexp.MustCompile(`(?i)\b(?:after|in|took|within|elapsed:?)\s+\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|sec|seconds|milliseconds)\b`),
}

// Steady is what somebody else says, without the parts that differ from one try
// to the next: marks of a request, points in time, ports, how long it took. An
// ellipsis stands in their place. Words that have none of these stay as they
// are.
func Steady(words string) string {
	for _, part := range volatile {
		words = part.ReplaceAllString(words, "…")
	}
	return words
}
