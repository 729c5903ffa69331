package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// defaultRetryAfter is the pause after a 429 that names none.
const defaultRetryAfter = 30 * time.Second

// Explain turns an error of a call into an ending on the given condition,
// prefixed with what was being done. Its text is the same from one try to the
// next. Errors that are no answer of a server pass through; so does nil.
func Explain(err error, condition, doing string) error {
	if err == nil {
		return nil
	}
	if _, known := outcome.As(err); known {
		return err
	}
	if ending := withheld(err, condition, doing); ending != nil {
		return ending
	}
	var answer *terdutapi.Error
	if errors.As(err, &answer) {
		return explainAnswer(answer, condition, doing).Because(marked(err))
	}
	if ending := untrusted(err, condition, doing); ending != nil {
		return ending.Because(err)
	}
	if errors.Is(err, terdutapi.ErrNoAnswer) {
		return outcome.Unknown(condition, v1alpha1.ReasonServerUnreachable,
			"%s: the server does not answer (%s)", doing, silence(err)).Because(err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// withheld explains what is about the server as a whole, or about the
// operator's own pace. Neither is news of an object that was applied before.
func withheld(err error, condition, doing string) error {
	var pause *Pause
	if errors.As(err, &pause) {
		ending := outcome.Unknown(condition, v1alpha1.ReasonRateLimited, "%s: the server asks for a pause", doing).Because(err)
		ending.After, ending.Tell = pause.For, outcome.TellNone
		if pause.Asked {
			ending.Tell = outcome.TellNew
		}
		return ending
	}
	var outage *Outage
	if !errors.As(err, &outage) {
		return nil
	}
	explained := Explain(outage.Cause, condition, doing)
	if ending, ended := outcome.As(explained); ended && ending.Status == metav1.ConditionUnknown && !outage.Long {
		ending.Tell = outcome.TellNew
	}
	return explained
}

// untrusted sorts the connections that were not made, or not kept, because of
// who is at the other end. Somebody has to change something before a new try
// can help.
func untrusted(err error, condition, doing string) *outcome.Ending {
	var address *AddressRefused
	switch {
	case errors.As(err, &address):
		return outcome.Refused(condition, v1alpha1.ReasonAddressRefused,
			"%s: %s, where the operator never calls: correct the server's URL", doing, address)
	case errors.Is(err, terdutapi.ErrCertificate):
		return outcome.Refused(condition, v1alpha1.ReasonCertificateRejected,
			"%s: the server's certificate is not trusted: name its CA in spec.external.caSecretRef, or correct the certificate", doing)
	default:
		return nil
	}
}

// explainAnswer sorts what a server can say.
func explainAnswer(e *terdutapi.Error, condition, doing string) *outcome.Ending {
	said := func(text string) string {
		if e.Message != "" {
			text += ": " + outcome.Steady(e.Message)
		}
		return fmt.Sprintf("%s: %s", doing, text)
	}
	switch {
	case e.Status >= 300 && e.Status < 400:
		return outcome.Refused(condition, v1alpha1.ReasonRedirectRefused,
			"%s: the server redirects (%d) to another place, which is not followed with a key: correct the server's URL", doing, e.Status)
	case absent(e):
		return outcome.Waiting(condition, v1alpha1.ReasonRequestRefused, "%s", said("the server does not have it"))
	case errors.Is(e, terdutapi.ErrConflict):
		return outcome.Refused(condition, v1alpha1.ReasonNameConflict, "%s", said("the name is in use on the server"))
	case errors.Is(e, terdutapi.ErrInvalid):
		return outcome.Refused(condition, v1alpha1.ReasonInvalid, "%s", said("the server does not accept it"))
	case errors.Is(e, terdutapi.ErrUnauthorized), errors.Is(e, terdutapi.ErrForbidden):
		return outcome.Unknown(condition, v1alpha1.ReasonCredentialRejected,
			"%s: the server does not accept the operator's key (%d)", doing, e.Status)
	case errors.Is(e, terdutapi.ErrRouteMissing):
		return outcome.Unknown(condition, v1alpha1.ReasonRouteMissing,
			"%s: %s %s is not there: the server is too old, or something else answers in its place", doing, e.Method, e.Path)
	case errors.Is(e, terdutapi.ErrRateLimited):
		ending := outcome.Unknown(condition, v1alpha1.ReasonRateLimited, "%s: the server asks for a pause", doing)
		ending.After = cmp.Or(e.RetryAfter, defaultRetryAfter)
		return ending
	case errors.Is(e, terdutapi.ErrUnavailable):
		return outcome.Unknown(condition, v1alpha1.ReasonServerUnreachable,
			"%s: the server is unavailable (%d)", doing, e.Status)
	case errors.Is(e, terdutapi.ErrRefused):
		return outcome.Waiting(condition, v1alpha1.ReasonRequestRefused, "%s", said("the server refuses"))
	default:
		return outcome.Unknown(condition, v1alpha1.ReasonUnexpectedAnswer,
			"%s: the answer (%d) does not follow the API: something else may answer in the server's place", doing, e.Status)
	}
}

// absent tells whether the server has said that one object is not there. That a
// whole list, or the place to create something, is "not found" comes from
// something else that answers: its path holds no ID.
func absent(e *terdutapi.Error) bool {
	return errors.Is(e, terdutapi.ErrNotFound) && strings.Contains(e.Path, "{}")
}

// marked adds what the loop asks of an error. Only a proved absence and a
// proved conflict count.
func marked(err error) error {
	var answer *terdutapi.Error
	switch {
	case errors.As(err, &answer) && absent(answer):
		return fmt.Errorf("%w: %w", remote.ErrAbsent, err)
	case errors.Is(err, terdutapi.ErrConflict):
		return fmt.Errorf("%w: %w", remote.ErrConflict, err)
	default:
		return err
	}
}

// silence names the sort of silence. The error's own text may hold ports and
// addresses that change with every try.
func silence(err error) string {
	var timeout net.Error
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.As(err, &dns):
		return "its name cannot be resolved"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "time-out"
	default:
		return "connection failed"
	}
}
