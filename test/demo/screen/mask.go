package screen

import (
	"net/url"
	"strings"
)

// MaskLast is an address whose last path element, the secret of a webhook, is left out. Query and user are left out too,
// and what is no address is left out whole.
func MaskLast(address string) string {
	const masked = "****"
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return masked
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	return u.Scheme + "://" + u.Host + path[:strings.LastIndex(path, "/")+1] + masked
}
