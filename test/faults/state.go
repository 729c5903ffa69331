package faults

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

// state is how everything looks, as lines: the objects of both planes without
// what differs from run to run. IDs are replaced by what they lead to, values of
// Secrets by what they open.
func (r *Run) state() []string {
	var out []string
	for _, o := range r.World.Objects() {
		content := o.DeepCopy().Object
		metadata := map[string]any{}
		for _, name := range []string{"labels", "annotations", "finalizers"} {
			if v, ok, _ := unstructured.NestedFieldNoCopy(content, "metadata", name); ok {
				metadata[name] = v
			}
		}
		for _, owner := range o.GetOwnerReferences() {
			metadata["owner"] = owner.Kind + " " + owner.Name
		}
		if o.GetDeletionTimestamp() != nil {
			metadata["terminating"] = true
		}
		content["metadata"] = masked("", metadata)
		content["status"] = masked("status", r.meaning(o, content["status"]))
		switch o.GetKind() {
		case "Secret":
			content["data"] = r.opens(o)
		case "Service": // the API server chooses its addresses
			unstructured.RemoveNestedField(content, "spec", "clusterIP")
			unstructured.RemoveNestedField(content, "spec", "clusterIPs")
		}
		out = leaves(out, "K8S "+idOf(o).String(), content)
	}
	for _, key := range r.servers() {
		out = append(out, contents(key, r.peers[key])...)
	}
	return out
}

func (r *Run) servers() []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(r.peers), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
}

// contents are the lines of one terdut-server.
func contents(key types.NamespacedName, s *refserver.Server) []string {
	var out []string
	say := func(format string, args ...any) {
		out = append(out, "REST "+key.String()+" "+fmt.Sprintf(format, args...))
	}
	owners := map[int64]string{}
	for _, u := range s.Users() {
		owners[u.ID] = "user " + u.Username
		say("user %s", u.Username)
	}
	teams := map[int64]string{}
	for _, t := range s.Teams() {
		teams[t.ID] = t.Name
		say("team %s groups %q %q", t.Name, t.MemberGroup, t.OwnerGroup)
		if p := s.Escalation(t.ID); len(p.Levels) > 0 {
			say("policy of %s repeat %d levels %d", t.Name, p.RepeatCount, len(p.Levels))
		}
		for _, d := range s.Switches(t.ID) {
			say("switch %s of %s: %s %s %s", d.Name, t.Name, d.Matcher, d.Timeout, d.Severity)
		}
		for _, i := range s.Integrations(t.ID) {
			say("integration %s of %s: %s", plainly(i.Name), t.Name, i.Kind)
		}
	}
	for _, a := range s.Accounts() {
		owners[a.ID] = "account " + a.Name
		say("account %s of team %q", plainly(a.Name), teams[a.TeamID])
	}
	for _, k := range s.LiveKeys() {
		say("key of %s", plainly(owners[k.OwnerID]))
	}
	slices.Sort(out)
	return out
}

// opens says of each value of a Secret what it opens now.
func (r *Run) opens(secret *unstructured.Unstructured) map[string]any {
	out := map[string]any{}
	for name, value := range secretData(secret) {
		out[name] = r.opensNow(value)
	}
	return out
}

// opensNothing is what is said of a value that no server accepts.
const opensNothing = "a key that opens nothing"

func (r *Run) opensNow(value string) string {
	for _, key := range r.servers() {
		s := r.peers[key]
		if id := s.KeyID(value); id != 0 {
			for _, k := range s.LiveKeys() {
				if k.ID == id {
					return fmt.Sprintf("a live key of %s", plainly(ownerOf(s, k.OwnerID)))
				}
			}
		}
		if id := s.IntegrationID(value); id != 0 {
			return "the live key of " + plainly(nameOfIntegration(s, id))
		}
	}
	if looksLikeKey(value) {
		return opensNothing
	}
	if len(value) == 32 || len(value) == 0 {
		return fmt.Sprintf("%d bytes", len(value))
	}
	for _, part := range strings.Split(value, "/") {
		if opened := ""; looksLikeKey(part) {
			opened = r.opensNow(part)
			return strings.Replace(plainly(value), plainly(part), "<"+opened+">", 1)
		}
	}
	return plainly(value)
}

func ownerOf(s *refserver.Server, id int64) string {
	for _, u := range s.Users() {
		if u.ID == id {
			return "user " + u.Username
		}
	}
	for _, a := range s.Accounts() {
		if a.ID == id {
			return "account " + a.Name
		}
	}
	return "nobody"
}

func nameOfIntegration(s *refserver.Server, id int64) string {
	for _, t := range s.Teams() {
		for _, i := range s.Integrations(t.ID) {
			if i.ID == id {
				return "integration " + i.Name + " of " + t.Name
			}
		}
	}
	return "an integration of no team"
}

func looksLikeKey(value string) bool { return key64.MatchString(value) }

func secretData(secret *unstructured.Unstructured) map[string]string {
	out := map[string]string{}
	data, _, _ := unstructured.NestedStringMap(secret.Object, "data")
	for name, encoded := range data {
		if raw, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			out[name] = string(raw)
		}
	}
	return out
}

// meaning replaces the recorded ID of an object by whether that is there.
func (r *Run) meaning(o *unstructured.Unstructured, status any) any {
	content, ok := status.(map[string]any)
	if !ok {
		return status
	}
	record, ok := content["remote"].(map[string]any)
	if !ok {
		return status
	}
	out := maps.Clone(content)
	record = maps.Clone(record)
	record["id"] = "an object that is not there"
	if r.stands(o) {
		record["id"] = "the object of that name"
	}
	out["remote"] = record
	return out
}

var (
	key64  = regexp.MustCompile(`^[0-9a-f]{64}$`)
	uid    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	hex    = regexp.MustCompile(`\b([0-9a-f]{16,}|[0-9a-f]{8})\b`)
	mark   = regexp.MustCompile(`-terdut-[0-9a-f]{8}`)
	moment = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	number = regexp.MustCompile(`\b\d+\b`)
)

// plainly is a text without what differs from run to run.
func plainly(text string) string {
	text = moment.ReplaceAllString(text, "<time>")
	text = uid.ReplaceAllString(text, "<uid>")
	text = hex.ReplaceAllString(text, "<hex>")
	text = mark.ReplaceAllString(text, "-terdut-<mark>")
	return number.ReplaceAllString(text, "#")
}

// masked does the same in everything below a value.
func masked(name string, value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, item := range value {
			out[key] = masked(key, item)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = masked(name, value[i])
		}
		return out
	case string:
		return plainly(value)
	case int64, float64:
		if strings.HasSuffix(strings.ToLower(name), "id") || name == "replaces" {
			return "#"
		}
	}
	return value
}

// leaves are the values in a tree, a line for each.
func leaves(out []string, path string, value any) []string {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if learnt(path, name) {
				continue
			}
			if strings.HasSuffix(strings.ToLower(name), "hmac") {
				out = append(out, path+" "+name) // its key is random
				continue
			}
			out = leaves(out, path+" "+name, value[name])
		}
		return out
	case []any:
		for i := range value {
			out = leaves(out, fmt.Sprintf("%s[%d]", path, i), value[i])
		}
		return out
	}
	return append(out, fmt.Sprintf("%s = %v", path, value))
}

// learnt tells what the operator knows only if an answer arrived, and can do
// without: the ID of a key, which a rotation looks up where it is missing, and
// whether the server takes keys that a caller chooses, which shows at the next
// key; whether a policy was there before, where the one that it has set itself
// was not recorded any more.
func learnt(path, name string) bool {
	return name == v1alpha1.AnnotationKeyID || name == "adopted" && strings.Contains(path, "TerdutEscalationRule") || name == "state" && strings.Contains(path, " status capabilities[0]")
}
