package localnode

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// commandLine is what runs in place of the container's image: the mapped command line, followed by what the
// specification passes to the program. false means that no image of that name is known.
func commandLine(images map[string][]string, container *corev1.Container, env []corev1.EnvVar) ([]string, bool) {
	program, ok := images[container.Image]
	if !ok {
		program, ok = images[repository(container.Image)]
	}
	if !ok || len(program) == 0 {
		return nil, false
	}
	variables := make(map[string]string, len(env))
	for _, variable := range env {
		variables[variable.Name] = variable.Value
	}
	line := append([]string{}, program...)
	if len(container.Command) > 0 {
		line = appendExpanded(line, container.Command[1:], variables)
	}
	return appendExpanded(line, container.Args, variables), true
}

func appendExpanded(line, words []string, variables map[string]string) []string {
	for _, word := range words {
		line = append(line, expand(word, variables))
	}
	return line
}

// repository is an image's name without tag and digest.
func repository(image string) string {
	name, _, _ := strings.Cut(image, "@")
	if colon := strings.LastIndex(name, ":"); colon > strings.LastIndex(name, "/") {
		name = name[:colon]
	}
	return name
}

// expand replaces $(NAME) where variables has NAME. $$ stands for one $, and what names no variable stays as it is, as
// Kubernetes documents it for env, command and args.
func expand(text string, variables map[string]string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		text = rest
		switch {
		case strings.HasPrefix(rest, "$"):
			out.WriteByte('$')
			text = rest[1:]
		case strings.HasPrefix(rest, "("):
			name, after, closed := strings.Cut(rest[1:], ")")
			value, known := variables[name]
			if !closed || !known {
				out.WriteByte('$')
				continue
			}
			out.WriteString(value)
			text = after
		default:
			out.WriteByte('$')
		}
	}
}
