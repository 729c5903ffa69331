package remote

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// nameStem is how much of a name a marked name keeps, in characters.
const nameStem = 40

// provisionalName is the name under which the object of the resource uid is
// created before it gets its own.
func provisionalName(name string, uid types.UID) string {
	return stem(name) + mark(uid)
}

// mark ends the name of everything that the resource uid has not finished.
func mark(uid types.UID) string {
	id := string(uid)
	if len(id) > 8 {
		id = id[:8]
	}
	return "-terdut-" + id
}

// hasMark tells whether a name bears the mark of the resource uid.
func hasMark(name string, uid types.UID) bool {
	m := mark(uid)
	// A server may fold the case of names.
	return uid != "" && len(name) >= len(m) && strings.EqualFold(name[len(name)-len(m):], m)
}

// retiredName is the name of a replaced object that still waits for its
// deletion.
func retiredName(name string, id int64) string {
	return fmt.Sprintf("%s-retired-%d", stem(name), id)
}

var marked = regexp.MustCompile(`(?i)-(terdut|retired)-[0-9a-f]*$`)

// isMarked tells a name that only the operator gives from one that people give.
func isMarked(name string) bool { return marked.MatchString(name) }

func stem(name string) string {
	runes := []rune(name)
	if len(runes) > nameStem {
		runes = runes[:nameStem]
	}
	return string(runes)
}
