package server

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
)

func TestPasswordHMAC(t *testing.T) {
	one, other := bytes.Repeat([]byte{1}, hmacKeySize), bytes.Repeat([]byte{2}, hmacKeySize)
	password := passwordHMAC(one, []byte("hunter22"))
	if password != passwordHMAC(one, []byte("hunter22")) {
		t.Error("the same password has two HMACs")
	}
	if strings.Contains(password, "hunter22") || len(password) > 128 {
		t.Errorf("got %q", password)
	}
	// Exact bytes: a line break belongs to a password.
	for _, changed := range []string{passwordHMAC(one, []byte("hunter22\n")), passwordHMAC(one, nil), passwordHMAC(other, []byte("hunter22"))} {
		if changed == password {
			t.Error("another password, or another key, has the same HMAC")
		}
	}
	if keyID(password) != keyID(passwordHMAC(one, nil)) || keyID(password) == keyID(passwordHMAC(other, nil)) {
		t.Error("an HMAC does not tell its key")
	}
	if passwordHMAC(nil, []byte("hunter22")) != "" {
		t.Error("without a key it would be a plain hash")
	}
}

func TestDatabaseStatus(t *testing.T) {
	mac := func(key byte, password string) string {
		return passwordHMAC(bytes.Repeat([]byte{key}, hmacKeySize), []byte(password))
	}
	remembered := func(hmac string, outdated ...string) *v1alpha1.ServerDatabaseStatus {
		return &v1alpha1.ServerDatabaseStatus{PasswordSecretRef: v1alpha1.SecretKeyRef{Name: "db", Key: "password"}, PasswordHMAC: hmac, OutdatedPods: outdated}
	}
	elsewhere := remembered(mac(1, "a"))
	elsewhere.PasswordSecretRef.Name = "another"
	for name, c := range map[string]struct {
		before   *v1alpha1.ServerDatabaseStatus
		hmac     string
		running  []string
		restart  bool
		outdated []string
		event    string
	}{
		"first look":              {nil, mac(1, "a"), nil, false, nil, ""},
		"the same":                {remembered(mac(1, "a")), mac(1, "a"), nil, false, nil, ""},
		"changed":                 {remembered(mac(1, "a")), mac(1, "b"), []string{"x/0"}, false, []string{"x/0"}, "the pods still have the earlier one"},
		"still not restarted":     {remembered(mac(1, "b"), "x/0"), mac(1, "b"), []string{"x/0"}, false, []string{"x/0"}, ""},
		"one of two restarted":    {remembered(mac(1, "b"), "x/0", "y/0"), mac(1, "b"), []string{"x/1", "y/0"}, false, []string{"y/0"}, ""},
		"restarted":               {remembered(mac(1, "b"), "x/0"), mac(1, "b"), []string{"z/0"}, false, nil, ""},
		"crashed":                 {remembered(mac(1, "b"), "x/0"), mac(1, "b"), nil, false, nil, ""},
		"changed again":           {remembered(mac(1, "b"), "x/0"), mac(1, "c"), []string{"z/0"}, false, []string{"z/0"}, "the pods still have the earlier one"},
		"changed, to be rolled":   {remembered(mac(1, "a")), mac(1, "b"), nil, true, nil, "restarted"},
		"asked to roll meanwhile": {remembered(mac(1, "b"), "x/0"), mac(1, "b"), nil, true, nil, ""},
		"changed without pods":    {remembered(mac(1, "a")), mac(1, "b"), nil, false, nil, "no pod runs"},
		"another Secret":          {elsewhere, mac(1, "b"), nil, false, nil, ""},
		"another HMAC key":        {remembered(mac(1, "a")), mac(2, "a"), nil, false, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := observed(1)
			server.Status.Database = c.before
			server.Spec.Database.RestartOnRotation = c.restart
			seen := Seen{
				Database: &Database{DSN: "postgres://h", Password: &SecretKey{"db", "password"}, PasswordHMAC: c.hmac},
				Running:  c.running,
			}
			got := databaseStatus(server, &seen)
			if !slices.Equal(got.OutdatedPods, c.outdated) || got.PasswordHMAC != c.hmac || got.PasswordSecretRef.Name != "db" {
				t.Errorf("got %+v", got)
			}
			told(t, rotationEvents(server, got), c.event, !c.restart)
			server.Status.Database = got
			if again := databaseStatus(server, &seen); !equality.Semantic.DeepEqual(again, got) || rotationEvents(server, again) != nil {
				t.Errorf("a second look says something else: %+v", again)
			}
		})
	}
}

// told wants one Event that says something, or none.
func told(t *testing.T, events []status.Event, says string, warning bool) {
	t.Helper()
	switch {
	case says == "" && len(events) != 0, says != "" && len(events) != 1:
		t.Errorf("got %d events", len(events))
	case says != "" && (!strings.Contains(events[0].Message, says) || events[0].Warning != warning):
		t.Errorf("got %+v", events[0])
	}
}

func TestDatabaseStatusOfWhatWasNotSeen(t *testing.T) {
	server := observed(1)
	server.Status.Database = &v1alpha1.ServerDatabaseStatus{
		PasswordSecretRef: v1alpha1.SecretKeyRef{Name: "db", Key: "password"}, PasswordHMAC: "a-b", OutdatedPods: []string{"x/0"},
	}
	if got := databaseStatus(server, &Seen{}); !equality.Semantic.DeepEqual(got, server.Status.Database) {
		t.Errorf("what was not looked at is not forgotten: %+v", got)
	}
	if got := databaseStatus(server, &Seen{Database: &Database{DSN: "postgres://h"}}); got != nil {
		t.Errorf("a database without a password has nothing to remember: %+v", got)
	}
	server.Spec.External = &v1alpha1.ServerExternal{}
	if got := databaseStatus(server, &Seen{}); got != nil {
		t.Errorf("the database of a server that became external is remembered: %+v", got)
	}
}

// TestHMACKeyGoes: the key of the HMACs is there as long as there is a password.
func TestHMACKeyGoes(t *testing.T) {
	password := v1alpha1.ServerDatabase{DSN: "postgres://h", PasswordSecretRef: &v1alpha1.SecretKeyRef{Name: "db"}}
	for name, c := range map[string]struct {
		database v1alpha1.ServerDatabase
		external *v1alpha1.ServerExternal
		owner    types.UID
		stays    bool
	}{
		"a password":             {database: password, owner: "this", stays: true},
		"a cluster":              {database: v1alpha1.ServerDatabase{CNPGClusterRef: &v1alpha1.DatabaseClusterRef{Name: "c"}}, owner: "this", stays: true},
		"no password any more":   {database: v1alpha1.ServerDatabase{DSN: "postgres://h"}, owner: "this"},
		"external":               {database: password, external: &v1alpha1.ServerExternal{}, owner: "this"},
		"somebody else's Secret": {owner: "other", stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			server := &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "terdut", UID: "this"}}
			server.Spec.Database, server.Spec.External = c.database, c.external
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
				Namespace: "platform", Name: v1alpha1.DatabaseHMACSecretName("terdut"), UID: "of the Secret",
				OwnerReferences: []metav1.OwnerReference{{Kind: "TerdutServer", Name: "terdut", UID: c.owner, Controller: new(true)}},
			}}
			r := &Reconciler{Client: fake.NewClientBuilder().WithObjects(secret).Build()}
			for range 2 { // the second time there may be none
				if err := r.dropHMACKey(t.Context(), server); err != nil {
					t.Fatal(err)
				}
			}
			err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret)
			if there := !apierrors.IsNotFound(err); there != c.stays {
				t.Errorf("it is there: %v", there)
			}
		})
	}
}
