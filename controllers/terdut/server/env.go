package server

import (
	"strconv"
	"strings"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// setting is one variable of the container and the field that it comes from.
type setting struct {
	// variable of the container's environment.
	variable string
	// field of the spec.
	field string
	// text gives its value; empty means that the field is not set.
	text func(in *Inputs) string
	// secret gives the key to read it from, in place of text; nil means that
	// the field is not set.
	secret func(in *Inputs) *SecretKey
}

// settings is the contract with the image: which field of the spec becomes
// which variable. PGPASSWORD is known; all other names are assumed, and this
// is the only place that has them.
var settings = []setting{
	{variable: "TERDUT_DATABASE_URL", field: "spec.database", text: func(in *Inputs) string { return in.Database.DSN }},
	{variable: "PGPASSWORD", field: "spec.database", secret: func(in *Inputs) *SecretKey { return in.Database.Password }},
	{variable: "TERDUT_LISTEN_ADDR", field: "spec.networking.servicePort", text: listenAddress},
	{variable: "TERDUT_BASE_URL", field: "spec.networking.hostname", text: baseURL},

	{variable: "TERDUT_STALE_AFTER", field: "spec.sweeper.staleAfter", text: sweeper(func(s *v1alpha1.ServerSweeper) string { return string(s.StaleAfter) })},
	{variable: "TERDUT_ARCHIVE_AFTER", field: "spec.sweeper.archiveAfter", text: sweeper(func(s *v1alpha1.ServerSweeper) string { return string(s.ArchiveAfter) })},

	{variable: "TERDUT_DEADMAN_MATCHERS", field: "spec.deadman.matchers", text: deadman(func(d *v1alpha1.ServerDeadman) string { return d.Matchers })},
	{variable: "TERDUT_DEADMAN_TIMEOUT", field: "spec.deadman.timeout", text: deadman(func(d *v1alpha1.ServerDeadman) string { return string(d.Timeout) })},
	{variable: "TERDUT_DEADMAN_SEVERITY", field: "spec.deadman.severity", text: deadman(func(d *v1alpha1.ServerDeadman) string { return d.Severity })},

	{variable: "TERDUT_NTFY_URL", field: "spec.notify.ntfyURL", text: notify(func(n *v1alpha1.ServerNotify) string { return n.NtfyURL })},
	{variable: "TERDUT_NTFY_FALLBACK_TOPIC", field: "spec.notify.fallbackTopic", text: notify(func(n *v1alpha1.ServerNotify) string { return n.FallbackTopic })},
	{variable: "TERDUT_NTFY_REPEAT_EVERY", field: "spec.notify.repeatEvery", text: notify(func(n *v1alpha1.ServerNotify) string { return string(n.RepeatEvery) })},
	{variable: "TERDUT_NTFY_TOKEN", field: "spec.notify.tokenSecretRef", secret: func(in *Inputs) *SecretKey { return tokenKey(&in.Spec) }},

	{variable: "TERDUT_OIDC_ENABLED", field: "spec.oidc.enabled", text: oidcEnabled},
	{variable: "TERDUT_OIDC_ISSUER", field: "spec.oidc.issuer", text: oidc(func(o *v1alpha1.ServerOIDC) string { return o.Issuer })},
	{variable: "TERDUT_OIDC_CLIENT_ID", field: "spec.oidc.clientID", text: oidc(func(o *v1alpha1.ServerOIDC) string { return o.ClientID })},
	{variable: "TERDUT_OIDC_CLIENT_SECRET", field: "spec.oidc.clientSecretRef", secret: func(in *Inputs) *SecretKey { return clientSecretKey(&in.Spec) }},
	{variable: "TERDUT_OIDC_NAME", field: "spec.oidc.name", text: oidc(func(o *v1alpha1.ServerOIDC) string { return o.Name })},
	{variable: "TERDUT_OIDC_SCOPES", field: "spec.oidc.scopes", text: oidc(func(o *v1alpha1.ServerOIDC) string { return o.Scopes })},
	{variable: "TERDUT_OIDC_ALLOWED_GROUPS", field: "spec.oidc.allowedGroups", text: oidc(func(o *v1alpha1.ServerOIDC) string { return strings.Join(o.AllowedGroups, ",") })},
	{variable: "TERDUT_OIDC_ADMIN_GROUP", field: "spec.oidc.adminGroup", text: oidc(func(o *v1alpha1.ServerOIDC) string { return o.AdminGroup })},
	{variable: "TERDUT_OIDC_SESSION_MAX_AGE", field: "spec.oidc.sessionMaxAge", text: oidc(func(o *v1alpha1.ServerOIDC) string { return string(o.SessionMaxAge) })},

	{variable: "TERDUT_PASSWORD_LOGIN", field: "spec.passwordLogin", text: passwordLogin},
}

// environment is the container's environment. A variable without a value is
// left out: an empty one would be stored without its value and compare as
// different for ever.
func environment(in *Inputs) []*corev1ac.EnvVarApplyConfiguration {
	var out []*corev1ac.EnvVarApplyConfiguration
	for _, s := range settings {
		if s.secret != nil {
			if key := s.secret(in); key != nil {
				out = append(out, corev1ac.EnvVar().WithName(s.variable).WithValueFrom(corev1ac.EnvVarSource().
					WithSecretKeyRef(corev1ac.SecretKeySelector().WithName(key.Secret).WithKey(key.Key))))
			}
			continue
		}
		if text := s.text(in); text != "" {
			out = append(out, corev1ac.EnvVar().WithName(s.variable).WithValue(literal(text)))
		}
	}
	return out
}

// literal keeps the kubelet from expanding $(NAME) in a value.
func literal(text string) string { return strings.ReplaceAll(text, "$(", "$$(") }

func listenAddress(in *Inputs) string { return ":" + strconv.Itoa(int(port(&in.Spec))) }

func passwordLogin(in *Inputs) string {
	if in.Spec.PasswordLogin == nil {
		return ""
	}
	return strconv.FormatBool(*in.Spec.PasswordLogin)
}

func oidcEnabled(in *Inputs) string {
	if in.Spec.OIDC == nil {
		return ""
	}
	return strconv.FormatBool(in.Spec.OIDC.Enabled)
}

func sweeper(get func(*v1alpha1.ServerSweeper) string) func(*Inputs) string {
	return func(in *Inputs) string {
		if in.Spec.Sweeper == nil {
			return ""
		}
		return get(in.Spec.Sweeper)
	}
}

func deadman(get func(*v1alpha1.ServerDeadman) string) func(*Inputs) string {
	return func(in *Inputs) string {
		if in.Spec.Deadman == nil {
			return ""
		}
		return get(in.Spec.Deadman)
	}
}

func notify(get func(*v1alpha1.ServerNotify) string) func(*Inputs) string {
	return func(in *Inputs) string {
		if in.Spec.Notify == nil {
			return ""
		}
		return get(in.Spec.Notify)
	}
}

// oidc reads a field that means something only while OIDC is enabled.
func oidc(get func(*v1alpha1.ServerOIDC) string) func(*Inputs) string {
	return func(in *Inputs) string {
		if in.Spec.OIDC == nil || !in.Spec.OIDC.Enabled {
			return ""
		}
		return get(in.Spec.OIDC)
	}
}
