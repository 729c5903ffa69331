package alertsource

import (
	"errors"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
)

// bases are the addresses of a server before the paths of its webhooks, without
// a slash at the end.
type bases struct {
	public, internal string
}

// basesOf are the addresses of a server now.
func basesOf(server *v1alpha1.TerdutServer) bases {
	return bases{
		public:   strings.TrimSuffix(connect.PublicURL(server), "/"),
		internal: strings.TrimSuffix(connect.BaseURL(server), "/"),
	}
}

// basesIn are the addresses for which a webhook Secret was written; empty where
// it does not say.
func basesIn(secret *corev1.Secret) bases {
	return bases{
		public:   secret.Annotations[v1alpha1.AnnotationURLBase],
		internal: secret.Annotations[v1alpha1.AnnotationInternalURLBase],
	}
}

// follow is a URL that was written for one address of a server, at the address
// that the server has now. One that does not begin with the former is the
// server's own word, or that of somebody who has changed it, and stays.
func follow(address, before, now string) string {
	if path, is := below(address, before); is {
		return now + path
	}
	return address
}

// below is what comes after a base in a URL that begins with it.
func below(address, base string) (path string, is bool) {
	path, is = strings.CutPrefix(address, base)
	return path, is && base != "" && strings.HasPrefix(path, "/")
}

// addresses are the webhook's URL as the server gave it, joined to the
// server's address when it is a path, and the same where pods reach the server.
func addresses(given string, at bases) (public, internal string, err error) {
	if path, is := below(given, at.public); is {
		return given, at.internal + path, nil
	}
	path, absolute, err := pathOf(given)
	if err != nil {
		return "", "", err
	}
	if absolute {
		return given, at.internal + path, nil
	}
	return at.public + path, at.internal + path, nil
}

// pathOf is a URL without what comes before its path, and whether there was
// something.
func pathOf(given string) (path string, absolute bool, err error) {
	u, err := url.Parse(given)
	if err != nil || given == "" {
		return "", false, errors.New("not a URL")
	}
	path = u.EscapedPath()
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return path, u.Host != "", nil
}

// answered is the URL in the answer of a server. One that the operator has
// installed has its hostname from the operator, and may not have heard yet that
// it is another one by now.
func answered(given string, server *v1alpha1.TerdutServer) string {
	if server.Spec.External != nil || server.Spec.Networking.Hostname == "" {
		return given
	}
	path, _, err := pathOf(given)
	if err != nil {
		return given // Publish says so
	}
	return path
}
