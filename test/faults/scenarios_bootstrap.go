package faults

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

// bootstraps are the ways to an identity on a server.
func bootstraps() []Scenario {
	plain, withKey := apply(fmt.Sprintf(bare, ownDSN, "")), apply(fmt.Sprintf(bare, ownDSN, keyGiven))
	start := func(o refserver.Options) []Step {
		return []Step{serve(o), together(apply(namespaces), apply(database))}
	}
	oldest := refserver.Options{Capabilities: &refserver.Capabilities{}}
	return []Scenario{
		{Name: "bootstrapped-before", Before: before(start(everything), bootstrapped, plain), Steps: []Step{together(eitherBootstrapped, handOver, withKey)}, Ends: ready(theServer)},
		{Name: "bootstrapped-before-today", Before: before(start(today), bootstrapped, plain), Steps: []Step{together(eitherBootstrapped, handOver, withKey)}, Ends: ready(theServer)},
		{Name: "bootstrapped-before-oldest", Before: before(start(oldest), bootstrapped, plain), Steps: []Step{together(eitherBootstrapped, handOver, withKey)}, Ends: ready(theServer)},
		{Name: "bootstrap-race", Before: before(start(everything), together(plain, asleep)), Steps: []Step{
			together(raced, awake), together(eitherBootstrapped, handOver, keyed),
		}, Ends: ready(theServer)},
		{Name: "bootstrap-race-today", Before: before(start(today), together(plain, asleep)), Steps: []Step{
			together(raced, awake), together(eitherBootstrapped, handOver, keyed),
		}, Ends: ready(theServer)},
		{Name: "database-emptied", Before: before(installed(everything, "Scoped"), apply(fmt.Sprintf(justTeam, "platform"))),
			Steps: []Step{serve(everything)}, Ends: ready(theServer, ourTeam), Allowed: lostAgain},
		{Name: "database-emptied-today", Before: before(installed(today, "OperatorOnly"), apply(fmt.Sprintf(justTeam, "platform"))),
			Steps: []Step{serve(today)}, Ends: ready(theServer, ourTeam), Allowed: lost},
		{Name: "given-key-replaced", Before: before(start(oldest), bootstrapped, together(handOver, withKey)), Steps: []Step{
			together(ready(theServer), revokeAll), together(says(theServer, "Bootstrapped", "False KeyNotAccepted"), handOver),
		}, Ends: ready(theServer)},
	}
}

// lostAgain is the same loss on a server that would take a key of our choice: the
// Secret still has the key of the database that was there before, which may come
// back and is not thrown away for one that is not accepted yet.
var lostAgain = []Allowance{{
	Reason: lost[0].Reason, At: lost[0].At, BeforeCrash: lost[0].BeforeCrash,
	Why: "the Secret keeps the key of the database that was there before until there is another one, so that none is chosen",
}}

// eitherBootstrapped: somebody else's bootstrap cannot be told from a lost answer
// to one's own.
var eitherBootstrapped = says(theServer, "Bootstrapped", "False "+v1alpha1.ReasonAlreadyBootstrapped, "False "+v1alpha1.ReasonBootstrapKeyLost)

// A server that is asleep has no pods. It is given a key of somebody's.
var (
	asleep = merge(theServer, `{"spec":{"replicas":0}}`)
	awake  = merge(theServer, `{"spec":{"replicas":1}}`)
	keyed  = merge(theServer, `{"spec":{"bootstrap":{"adminKeySecretRef":{"name":"admin"}}}}`)
)

// somebody is an administrator whom the operator does not know.
const somebody = "somebody"

// bootstrapped is a server that somebody else has bootstrapped.
var bootstrapped = onServer(claim)

func claim(s *refserver.Server) error {
	_, err := s.Model().CreateUser(somebody, somebody+"@example.com", true)
	return err
}

// raced has somebody bootstrap a server when the operator is about to.
var raced = onServer(func(s *refserver.Server) error {
	s.SetFault(func(_ *http.Request, route string) refserver.Fault {
		if route != "POST /api/bootstrap" || len(s.Users()) > 0 {
			return nil
		}
		return func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if err := claim(s); err != nil {
				panic(err)
			}
			next.ServeHTTP(w, req)
		}
	})
	return nil
})

// handOver puts a new key of somebody's into the Secret that specs name.
func handOver(r *Run) error {
	s := r.peer("platform", "terdut")
	for _, u := range s.Users() {
		if u.Username != somebody {
			continue
		}
		_, key, err := s.Model().CreateKey(u.ID, "for the operator", "")
		if err != nil {
			return fmt.Errorf("make a key for %s: %w", somebody, err)
		}
		return apply(fmt.Sprintf(adminSecret, base64.StdEncoding.EncodeToString([]byte(key))))(r)
	}
	return fmt.Errorf("there is no user %s", somebody)
}

// revokeAll revokes every key on the server.
func revokeAll(r *Run) error {
	s := r.peer("platform", "terdut")
	for _, k := range s.LiveKeys() {
		if err := s.Model().DeleteKey(k.OwnerID, k.ID); err != nil {
			return fmt.Errorf("revoke key %d: %w", k.ID, err)
		}
	}
	return s.Model().Refresh(context.Background())
}

const (
	adminSecret = `
apiVersion: v1
kind: Secret
metadata: {name: admin, namespace: platform}
data: {key: %s}`
	keyGiven = `
  bootstrap: {adminKeySecretRef: {name: admin, key: key}}`
)
