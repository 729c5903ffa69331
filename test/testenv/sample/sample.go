// Package sample builds objects of the five kinds that are right as they are:
// a spec changes what it is about and creates them.
package sample

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

const (
	// ServerName is the name of every Server.
	ServerName = "terdut"
	// Allowed is the label that a Server asks of the namespaces of teams, with
	// the value "true".
	Allowed = "terdut.ryuvia.com/allowed"

	passwordName, passwordKey = "db", "password"
)

// Admitted are the labels of a namespace that a Server admits.
func Admitted() map[string]string { return map[string]string{Allowed: "true"} }

// Server is a TerdutServer that the operator deploys. It admits the teams of
// namespaces with the label Allowed, and its database needs Password.
func Server(namespace string) *v1alpha1.TerdutServer {
	s := &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: ServerName}}
	s.Spec.Database.DSN = "postgres://terdut@db:5432/terdut"
	s.Spec.Database.PasswordSecretRef = &v1alpha1.SecretKeyRef{Name: passwordName, Key: passwordKey}
	s.Spec.AllowedTeams.Namespaces = v1alpha1.AllowedNamespaces{
		From: v1alpha1.FromSelector, Selector: &metav1.LabelSelector{MatchLabels: Admitted()},
	}
	return s
}

// Password is the Secret with the password of a Server's database.
func Password(namespace string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: passwordName},
		Data:       map[string][]byte{passwordKey: []byte("opens nothing")},
	}
}

// AdmitAll makes a server admit the teams of all namespaces, and give them no
// keys.
func AdmitAll(s *v1alpha1.TerdutServer) {
	s.Spec.AllowedTeams.Namespaces = v1alpha1.AllowedNamespaces{From: v1alpha1.FromAll}
	s.Spec.Credentials = &v1alpha1.ServerCredentials{Mode: v1alpha1.CredentialsOperatorOnly}
}

// Team is a team on a server. The API server makes up its name.
func Team(server *v1alpha1.TerdutServer, namespace, displayName string) *v1alpha1.TerdutTeam {
	t := &v1alpha1.TerdutTeam{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "team-"}}
	t.Spec.ServerRef = v1alpha1.ServerRef{Name: server.Name, Namespace: server.Namespace}
	t.Spec.DisplayName = displayName
	return t
}

// NamedTeam is Team with a name.
func NamedTeam(server *v1alpha1.TerdutServer, namespace, name, displayName string) *v1alpha1.TerdutTeam {
	t := Team(server, namespace, displayName)
	t.GenerateName, t.Name = "", name
	return t
}

// Rule is the escalation rule of a team that has its name. Without levels it has
// one, of five minutes.
func Rule(team *v1alpha1.TerdutTeam, name string, levels ...v1alpha1.EscalationLevel) *v1alpha1.TerdutEscalationRule {
	r := &v1alpha1.TerdutEscalationRule{ObjectMeta: metav1.ObjectMeta{Namespace: team.Namespace, Name: name}}
	r.Spec.TeamRef.Name, r.Spec.RepeatCount, r.Spec.Levels = team.Name, 2, levels
	if len(levels) == 0 {
		r.Spec.Levels = []v1alpha1.EscalationLevel{Level("5m")}
	}
	return r
}

// Level is a level that pages whoever is on call and those users.
func Level(timeout v1alpha1.Duration, users ...string) v1alpha1.EscalationLevel {
	l := v1alpha1.EscalationLevel{Timeout: timeout}
	l.Targets = append(l.Targets, v1alpha1.EscalationTarget{Kind: v1alpha1.TargetOnCall})
	for _, u := range users {
		l.Targets = append(l.Targets, v1alpha1.EscalationTarget{Kind: v1alpha1.TargetUser, Username: u})
	}
	return l
}

// Switch is a dead man's switch of a team that has its name. It has the same
// name on the server, and a matcher that no switch of another name has.
func Switch(team *v1alpha1.TerdutTeam, name string) *v1alpha1.TerdutDeadmanSwitch {
	s := &v1alpha1.TerdutDeadmanSwitch{ObjectMeta: metav1.ObjectMeta{Namespace: team.Namespace, Name: name}}
	s.Spec = v1alpha1.TerdutDeadmanSwitchSpec{
		TeamRef: v1alpha1.LocalRef{Name: team.Name}, Name: name, Matcher: "alertname=Watchdog,team=" + name,
		Timeout: "15m", Severity: "critical",
	}
	return s
}

// Source is an alert source of a team that has its name. It has the same name on
// the server.
func Source(team *v1alpha1.TerdutTeam, name string) *v1alpha1.TerdutAlertSource {
	s := &v1alpha1.TerdutAlertSource{ObjectMeta: metav1.ObjectMeta{Namespace: team.Namespace, Name: name}}
	s.Spec = v1alpha1.TerdutAlertSourceSpec{
		TeamRef: v1alpha1.LocalRef{Name: team.Name}, Name: name, Kind: v1alpha1.AlertSourceAlertmanager,
	}
	return s
}

// Full is a team and one of each kind that a team has.
type Full struct {
	Team   *v1alpha1.TerdutTeam
	Rule   *v1alpha1.TerdutEscalationRule
	Switch *v1alpha1.TerdutDeadmanSwitch
	Source *v1alpha1.TerdutAlertSource
}

// FullOf is a team, which has its name, and one of each kind for it.
func FullOf(team *v1alpha1.TerdutTeam) *Full {
	return &Full{Team: team, Rule: Rule(team, "rule"), Switch: Switch(team, "watchdog"), Source: Source(team, "alerts")}
}

// Children are what belongs to the team.
func (f *Full) Children() []client.Object { return []client.Object{f.Rule, f.Switch, f.Source} }

// Objects are the team and, after it, its Children.
func (f *Full) Objects() []client.Object { return append([]client.Object{f.Team}, f.Children()...) }
