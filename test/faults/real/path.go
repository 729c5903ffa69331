package real

import "strings"

// path is one of a request to the API server, by its parts. Paths that lead to
// no resource have none.
type path struct {
	// root is all before the namespace or the resource.
	root                               string
	group, version                     string
	namespace, resource, name, subpath string
}

// parse takes a path apart.
func parse(text string) path {
	parts := strings.Split(strings.Trim(text, "/"), "/")
	head := map[string]int{"api": 2, "apis": 3}[parts[0]]
	if head == 0 || len(parts) <= head {
		return path{root: text}
	}
	p := path{root: "/" + strings.Join(parts[:head], "/"), version: parts[head-1]}
	if head == 3 {
		p.group = parts[1]
	}
	rest := parts[head:]
	if rest[0] == "namespaces" && len(rest) > 2 && rest[2] != "status" && rest[2] != "finalize" {
		p.namespace, rest = rest[1], rest[2:]
	}
	p.resource = rest[0]
	if len(rest) > 1 {
		p.name = rest[1]
	}
	if len(rest) > 2 {
		p.subpath = strings.Join(rest[2:], "/")
	}
	return p
}

// with is the path with a suffix at the name of the namespace.
func (p path) with(suffix string) string {
	if p.resource == "" {
		return p.root
	}
	out := p.root
	if p.namespace != "" {
		out += "/namespaces/" + p.namespace + suffix
	}
	out += "/" + p.resource
	if p.name != "" {
		out += "/" + p.name
		if p.resource == "namespaces" {
			out += suffix
		}
	}
	if p.subpath != "" {
		out += "/" + p.subpath
	}
	return out
}
