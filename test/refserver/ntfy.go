package refserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
)

// ntfyTimeout bounds one delivery: a webhook waits for it, and Alertmanager does not wait for long.
const ntfyTimeout = 5 * time.Second

// Ntfy delivers pages to an ntfy server.
type Ntfy struct {
	base   *url.URL
	token  string
	client *http.Client
}

// NewNtfy returns a notifier that posts to <address>/<topic>; an empty token sends none.
func NewNtfy(address, token string) (*Ntfy, error) {
	base, err := url.Parse(address)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return nil, errors.New("the ntfy address must be an http or https URL")
	}
	return &Ntfy{base: base, token: token, client: &http.Client{Timeout: ntfyTimeout}}, nil
}

// Notify implements Notifier. Its errors go into a timeline and show neither address nor token.
func (n *Ntfy) Notify(ctx context.Context, page model.Page) error {
	text := fmt.Sprintf("[%s] %s", page.Severity, page.Title)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.base.JoinPath(url.PathEscape(page.Topic)).String(),
		strings.NewReader(text))
	if err != nil {
		return errors.New("the topic does not make a URL")
	}
	req.Header.Set("Title", fmt.Sprintf("incident %d", page.IncidentID))
	if n.token != "" {
		req.Header.Set("Authorization", "Bearer "+n.token)
	}
	resp, err := n.client.Do(req)
	if err != nil {
		return errors.New("ntfy cannot be reached")
	}
	_, drainErr := io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
	if err = errors.Join(drainErr, resp.Body.Close()); err != nil {
		return errors.New("the connection to ntfy broke")
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("ntfy answered %d", resp.StatusCode)
	}
	return nil
}
