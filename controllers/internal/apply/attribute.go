package apply

import (
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// managed is one entry of managedFields, read.
type managed struct {
	entry *metav1.ManagedFieldsEntry
	set   *fieldpath.Set
}

// drift returns the path as one that this manager has.
func (m managed) drift(path string) FieldDrift {
	field := FieldDrift{Path: path, Manager: m.entry.Manager, Operation: string(m.entry.Operation)}
	if m.entry.Time != nil {
		field.Time = *m.entry.Time
	}
	return field
}

// others reads the entries of everybody but us, the latest first. What cannot be read is left out: it would name nobody.
func others(entries []metav1.ManagedFieldsEntry) []managed {
	read := make([]managed, 0, len(entries))
	for i := range entries {
		if isOwn(&entries[i]) {
			continue
		}
		if set, err := decode(&entries[i]); err == nil {
			read = append(read, managed{entry: &entries[i], set: set})
		}
	}
	slices.SortStableFunc(read, func(a, b managed) int { return -compareTimes(a.entry.Time, b.entry.Time) })
	return read
}

func compareTimes(a, b *metav1.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return a.Compare(b.Time)
}

// attribute tells who has the fields that differ now.
func attribute(diff difference, entries []metav1.ManagedFieldsEntry) []FieldDrift {
	if len(diff.paths) == 0 {
		return []FieldDrift{{Path: PathOrder}}
	}
	managers := others(entries)
	fields := make([]FieldDrift, 0, len(diff.paths))
	for _, path := range diff.paths {
		fields = append(fields, attributePath(path, managers))
	}
	return fields
}

// attributePath names the manager that wrote last of those that have the path or something inside of it. If there is none,
// it is one that has a field of which the path is a part.
func attributePath(path fieldpath.Path, managers []managed) FieldDrift {
	if field := holderOf(path, managers); field.Manager != "" {
		return field
	}
	name := formatPath(path)
	for _, manager := range managers {
		if has(manager.set, path) {
			return manager.drift(name)
		}
	}
	return FieldDrift{Path: name}
}

// holderOf names the manager that wrote last of those that have the path itself or something inside of it.
func holderOf(path fieldpath.Path, managers []managed) FieldDrift {
	name := formatPath(path)
	for _, manager := range managers {
		if holds(manager.set, path) {
			return manager.drift(name)
		}
	}
	return FieldDrift{Path: name}
}

// holds tells whether the set has the path or anything inside of it.
func holds(set *fieldpath.Set, path fieldpath.Path) bool {
	if set.Has(path) {
		return true
	}
	for _, element := range path {
		set = set.WithPrefix(element)
	}
	return !set.Empty()
}

// has tells whether the set has the path, anything inside of it, or a field that it is a part of. The latter is a field
// that is written as a whole, but also an empty map that somebody applied, which says nothing about what is in it.
func has(set *fieldpath.Set, path fieldpath.Path) bool {
	if holds(set, path) {
		return true
	}
	for _, element := range path {
		if set.Members.Has(element) && set.WithPrefix(element).Empty() {
			return true
		}
		set = set.WithPrefix(element)
	}
	return false
}

// conflict is a field that another manager owns and the intent wants to be different.
type conflict struct {
	// path is empty when the API server named a field that is not in the intent.
	path  fieldpath.Path
	field FieldDrift
}

// attributeConflicts reads the causes of a conflict. They name path and manager in prose. wanted are the fields of the
// intent, of which the path is one; the entries tell what else there is to know of the manager, if it had the field when
// they were read.
func attributeConflicts(causes []metav1.StatusCause, wanted *fieldpath.Set, entries []metav1.ManagedFieldsEntry) []conflict {
	paths := make(map[string]fieldpath.Path, wanted.Size())
	// Set.All must not be left early: it goes on, and the runtime panics.
	wanted.Iterate(func(path fieldpath.Path) { paths[path.String()] = path.Copy() })
	managers := others(entries)
	conflicts := make([]conflict, 0, len(causes))
	for _, cause := range causes {
		manager := quoted(cause.Message)
		found := conflict{path: paths[cause.Field]}
		found.field = FieldDrift{Path: strings.ReplaceAll(strings.TrimPrefix(cause.Field, "."), `"`, ""), Manager: manager}
		if found.path != nil {
			found.field.Path = formatPath(found.path)
			known := slices.DeleteFunc(slices.Clone(managers), func(m managed) bool { return m.entry.Manager != manager })
			if field := holderOf(found.path, known); field.Manager != "" {
				found.field = field
			}
		}
		conflicts = append(conflicts, found)
	}
	return conflicts
}

// quoted returns the first quoted part of a message as `conflict with "kubectl-edit" using apps/v1`.
func quoted(message string) string {
	start := strings.IndexByte(message, '"')
	if start < 0 {
		return ""
	}
	prefix, err := strconv.QuotedPrefix(message[start:])
	if err != nil {
		return ""
	}
	name, err := strconv.Unquote(prefix)
	if err != nil {
		return ""
	}
	return name
}

// formatPath writes a path for a reader: spec.template.spec.containers[name=server].image. A key that is not an
// identifier stands in brackets, and an item of a set, which is a value, is not shown.
func formatPath(path fieldpath.Path) string {
	var b strings.Builder
	for _, element := range path {
		switch {
		case element.FieldName != nil && isIdentifier(*element.FieldName):
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(*element.FieldName)
		case element.FieldName != nil:
			b.WriteString("[" + *element.FieldName + "]")
		case element.Key != nil:
			b.WriteString("[" + formatKey(*element.Key) + "]")
		case element.Index != nil:
			b.WriteString("[" + strconv.Itoa(*element.Index) + "]")
		default:
			b.WriteString("[*]")
		}
	}
	return b.String()
}

func formatKey(key value.FieldList) string {
	parts := make([]string, 0, len(key))
	for _, field := range key {
		text := value.ToString(field.Value)
		if field.Value.IsString() {
			text = field.Value.AsString()
		}
		parts = append(parts, field.Name+"="+text)
	}
	return strings.Join(parts, ",")
}

func isIdentifier(name string) bool {
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' {
			return false
		}
	}
	return name != ""
}

func joinFields(names []string) string { return strings.Join(names, ".") }
