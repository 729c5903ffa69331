package reports

const (
	deletion  = "test/envtest/deletion"
	identity  = "test/envtest/identity"
	adoption  = "test/envtest/adoption"
	kinds     = "test/envtest/kinds"
	server    = "test/envtest/server"
	rotation  = "test/envtest/rotation"
	load      = "test/envtest/load"
	modes     = "test/envtest/modes"
	policies  = "test/envtest/policies"
	badInput  = "test/envtest/badinput"
	live      = "test/envtest/kstatus"
	chart     = "test/chart/install"
	engine    = "controllers/internal/apply/envtest"
	loop      = "controllers/internal/remote"
	connect   = "controllers/terdut/connect"
	groupEnd  = "Deletion"
	groupWho  = "Identity"
	groupLoad = "Load and drift"
	groupSafe = "Security"
	groupCall = "On call"
	hub       = "https://github.com/"
)

// All are the reports, in order.
var All = []Report{
	{
		Number: 1, Group: groupEnd, Title: "The operator leaves before its resources, and their namespace never ends",
		Sources: []string{hub + "hashicorp/vault-secrets-operator/issues/100", hub + "cloudnative-pg/cloudnative-pg/issues/10535", hub + "argoproj/argo-cd/issues/9296"},
		Answer:  "the definitions stay when the chart goes, nothing terminates by itself, and one command takes our finalizers off afterwards",
		Tests:   []Test{{chart, "leaves the server as it is when it is uninstalled, and nothing terminates"}, {chart, "takes our finalizers off, and nobody else's"}},
	},
	{
		Number: 2, Group: groupEnd, Title: "A server deleted in the foreground is blocked by its children",
		Sources: []string{hub + "mariadb-operator/mariadb-operator/issues/1223"},
		Answer:  "children of a server that goes bear no finalizer of ours, and are not made again",
		Tests:   []Test{{deletion, "loses its children for good, and keeps the key until no team needs it"}},
	},
	{
		Number: 3, Group: groupEnd, Title: "The Secret with the API key is collected before the resource that needs it",
		Sources: []string{hub + "epam/edp-keycloak-operator/issues/62", hub + "redhat-cop/vault-config-operator/issues/133"},
		Answer:  "the Secret has a finalizer of its own until no team needs it",
		Tests:   []Test{{identity, "leaves the key, terminating and readable, until no team needs it"}},
	},
	{
		Number: 4, Group: groupEnd, Title: "In a terminating namespace an object is made, its ID cannot be saved, and it is made again",
		Sources: []string{hub + "openshift/pagerduty-operator/pull/259"},
		Answer:  "the intent is saved first; what cannot be saved is not made, and what was made is found again by its mark",
		Tests:   []Test{{deletion, "makes no second object: "}, {deletion, "leaves nothing behind when the tenant's namespace is deleted: "}},
	},
	{
		Number: 5, Group: groupEnd, Title: "Children are made again after the deletion has begun",
		Sources: []string{hub + "cloudnative-pg/cloudnative-pg/issues/11360", hub + "cloudnative-pg/cloudnative-pg/issues/9554"},
		Answer:  "an owner that is being deleted gets no children",
		Tests:   []Test{{engine, "makes no children of an owner that is being deleted"}, {deletion, "loses its children for good, and keeps the key until no team needs it"}},
	},
	{
		Number: 6, Group: groupEnd, Title: "A resource that never succeeded cannot be deleted",
		Sources: []string{hub + "redhat-cop/vault-config-operator/issues/93", hub + "mariadb-operator/mariadb-operator/issues/172"},
		Answer:  "what has recorded nothing goes at once, whatever its server does",
		Tests:   []Test{{kinds, "calls nobody for what was never permitted"}, {badInput, "is nobody else's trouble, and can be deleted"}},
	},
	{
		Number: 7, Group: groupEnd, Title: "A paused resource cannot be deleted",
		Sources: []string{hub + "crossplane/crossplane/issues/4839"},
		Answer:  "a paused resource is left as it is, and deleted like any other",
		Tests:   []Test{{policies, "does not keep anything from being deleted"}},
	},
	{
		Number: 8, Group: groupEnd, Title: "Orphans without a word: the finalizer goes while the server is not ready, or comes after the first call",
		Sources: []string{hub + "grafana/grafana-operator/issues/2897"},
		Answer:  "the finalizer comes before the first call and goes when the object is proved gone",
		Tests: []Test{{loop, "TestEveryInterruption"}, {kinds, "waits for a server that is down, says so, and ends when it is back"},
			{badInput, "once, while its objects are deleted: is not believed"}},
	},
	{
		Number: 9, Group: groupEnd, Title: "Deleting the losing duplicate drops the object of the winner",
		Sources: []string{hub + "cloudnative-pg/cloudnative-pg/pull/10870"},
		Answer:  "only what a resource has recorded under its own UID is deleted, and nothing that two have recorded",
		Tests:   []Test{{deletion, "is deleted without a call, and leaves the winner's object"}, {deletion, "is deleted without a call when it has recorded the winner's object too"}},
	},
	{
		Number: 10, Group: groupEnd, Title: "A stale cache brings finalizers of others back",
		Sources: []string{hub + "grafana/grafana-operator/issues/2079"},
		Answer:  "finalizers are patched under the resourceVersion that was read",
		Tests:   []Test{{live, "leaves a finalizer of somebody else alone, and does not bring it back"}},
	},
	{
		Number: 11, Group: groupEnd, Title: "The connection is freed while what depends on it still terminates",
		Sources: []string{hub + "crossplane/crossplane-runtime/issues/1049"},
		Answer:  "a server waits for its teams, a team for what belongs to it, and the key for all of them",
		Tests:   []Test{{deletion, "waits for what belonged to a team and goes after it"}, {server, "waits for the teams, first for somebody to delete them, then for their own end"}},
	},
	{
		Number: 12, Group: groupWho, Title: "Two resources fight over one object",
		Sources: []string{hub + "epam/edp-keycloak-operator/issues/362"},
		Answer:  "the one that has recorded it holds it; the other says NameConflict and writes nothing",
		Tests: []Test{{kinds, "keeps a team that is renamed into it under its old name"},
			{adoption, "goes to one of two that want it at the same time, and the other touches nothing"}},
	},
	{
		Number: 13, Group: groupWho, Title: "Objects of others are taken over without asking",
		Sources: []string{hub + "crossplane/crossplane-runtime/issues/27", hub + "aws-controllers-k8s/community/issues/1965"},
		Answer:  "only with the leave of the server's owner, from its own namespace or by name",
		Tests: []Test{{kinds, "is not touched from another namespace, and adopted from the server's own"},
			{adoption, "is taken over from another namespace with the entry that the server prints, and not without"}},
	},
	{
		Number: 14, Group: groupWho, Title: "The answer to a create call is lost",
		Sources: []string{hub + "crossplane/crossplane/issues/3037", hub + "crossplane/crossplane-runtime/issues/340"},
		Answer:  "what was made bears a mark by which it is found again, without a person",
		Tests: []Test{{loop, "TestEveryInterruption"}, {loop, "TestTwoIncarnations"}, {modes, "is one, whatever becomes of the call that makes it"},
			{badInput, "a 409 after our own success"}},
	},
	{
		Number: 15, Group: groupWho, Title: "A restore comes without status",
		Sources: []string{hub + "vmware-tanzu/velero/issues/1687"},
		Answer:  "objects are adopted again, and keys found again in their Secrets",
		Tests: []Test{{adoption, "of objects without their statuses needs one edit of the server, and no key changes"},
			{adoption, "under new UIDs is the same for all but the key of a source, with statuses that are hints at most"}},
	},
	{
		Number: 16, Group: groupWho, Title: "A rename makes a second object",
		Sources: []string{hub + "epam/edp-keycloak-operator/issues/308"},
		Answer:  "an object is known by its recorded ID; a switch, which has no rename, is made under the new name before the old one goes",
		Tests: []Test{{kinds, "changes every field of a team in place"}, {kinds, "renames an integration and keeps its key"},
			{kinds, "is made under its new name before the old one goes"}},
	},
	{
		Number: 17, Group: groupWho, Title: "Moving a resource to another server leaves the old copy",
		Sources: []string{hub + "grafana/grafana-operator/issues/1519"},
		Answer:  "references are immutable, and the message names the way out; deletion follows what was recorded",
		Tests:   []Test{{"test/cel", "TestCEL"}},
	},
	{
		Number: 18, Group: groupLoad, Title: "Drift is never repaired",
		Sources: []string{hub + "redhat-cop/vault-config-operator/issues/285", hub + "cloudnative-pg/cloudnative-pg/issues/6895"},
		Answer:  "every resync compares, repairs, and says which fields differed",
		Tests:   []Test{{kinds, "repairs a team that was renamed"}, {kinds, "repairs a policy"}, {engine, "corrects an edit and names field, manager and operation"}},
	},
	{
		Number: 19, Group: groupLoad, Title: "A server comes back empty, and nobody notices until the next period",
		Sources: []string{hub + "grafana/grafana-operator/issues/1221"},
		Answer:  "lists are read anew when a server answers again; what is proved gone is made again",
		Tests: []Test{{server, "is bootstrapped anew on another, empty database"},
			{adoption, "gets everything anew where strangers have its IDs, and they are not touched"},
			{badInput, "because everything was deleted: is made again, with a warning"}},
	},
	{
		Number: 20, Group: groupLoad, Title: "A server that is not ready makes retries that overload etcd",
		Sources: []string{hub + "grafana/grafana-operator/issues/2100"},
		Answer:  "one probe at a time, and one status write for each object in the whole outage",
		Tests:   []Test{{load, "cost a dead server one probe at a time and one write each"}},
	},
	{
		Number: 21, Group: groupLoad, Title: "A trace ID in the error changes the status, and with it comes no backoff",
		Sources: []string{hub + "crossplane-contrib/provider-aws/issues/69", hub + "Kong/kong-operator/pull/1371"},
		Answer:  "what differs from try to try is cut out of a server's words; a status write of our own wakes nobody",
		Tests:   []Test{{connect, "TestExplainIsSteady"}, {"controllers/internal/outcome", "TestSteady"}, {badInput, "is no news after the first"}},
	},
	{
		Number: 22, Group: groupLoad, Title: "A time of the last resync is written in every cycle",
		Sources: []string{hub + "grafana/grafana-operator/pull/2752"},
		Answer:  "nothing is written that says nothing new",
		Tests:   []Test{{kinds, "costs no write on either plane"}, {load, "cost one list in a resync and no write at rest"}},
	},
	{
		Number: 23, Group: groupLoad, Title: "Polling in step, and 429s",
		Sources: []string{hub + "crossplane-contrib/provider-http/issues/195", hub + "PagerDuty/terraform-provider-pagerduty/issues/184"},
		Answer:  "resyncs are spread, one bucket of tokens per server, Retry-After holds for everybody",
		Tests:   []Test{{connect, "TestTokensKeepTheRate"}, {connect, "TestRetryAfter"}, {"controllers/internal/outcome", "TestSchedule"}},
	},
	{
		Number: 24, Group: groupLoad, Title: "One dead server starves the rest",
		Sources: []string{hub + "hashicorp/vault-secrets-operator/issues/1283"},
		Answer:  "a server that is known to be silent costs no worker; namespaces are served in turn",
		Tests:   []Test{{badInput, "does not keep those of another server waiting"}, {load, "does not delay the single team of another"}},
	},
	{
		Number: 25, Group: groupSafe, Title: "A shared server is wanted, and there is no consent",
		Sources: []string{hub + "cloudnative-pg/cloudnative-pg/issues/6043", hub + "mariadb-operator/mariadb-operator/issues/136", hub + "grafana/grafana-operator/issues/1442"},
		Answer:  "spec.allowedTeams of the server, asked first",
		Tests:   []Test{{kinds, "of a server to teams of other namespaces"}, {kinds, "stops everything when it is taken back, keeps what is there, and starts again"}},
	},
	{
		Number: 26, Group: groupSafe, Title: "One path forgets the check",
		Sources: []string{hub + "grafana/grafana-operator/issues/1850", hub + "elastic/cloud-on-k8s/issues/9683", hub + "aws-controllers-k8s/community/issues/3030"},
		Answer:  "references, consent and session are one function; a matrix of every path shows no call and no read of a Secret",
		Tests:   []Test{{kinds, "the consent matrix"}, {kinds, "does not tell a server that is missing from one that forbids"}},
	},
	{
		Number: 27, Group: groupSafe, Title: "A Secret that is written takes the place of somebody else's",
		Sources: []string{hub + "GoogleCloudPlatform/k8s-config-connector/pull/8533", hub + "mongodb/mongodb-kubernetes/pull/1556"},
		Answer:  "only a Secret that the resource controls is written; one without a controller is a stranger's too",
		Tests: []Test{{kinds, "is never written over a stranger's"}, {rotation, "is never a Secret that the source does not control"},
			{server, "never goes into a stranger's Secret"}},
	},
	{
		Number: 28, Group: groupSafe, Title: "Secrets in status or logs",
		Sources: []string{hub + "crossplane-contrib/provider-http/issues/39"},
		Answer:  "no byte of an answer is shown but the error string of a server that has accepted our key, without anything that looks like one",
		Tests:   []Test{{"terdutapi", "TestNoErrorShowsAKey"}, {engine, "shows no value in an error"}},
	},
	{
		Number: 29, Group: groupSafe, Title: "A rotation that stops half-way",
		Sources: []string{hub + "grafana/grafana-operator/pull/2525", hub + "grafana/grafana-operator/issues/774", hub + "goharbor/harbor-operator/issues/995"},
		Answer:  "make, verify, publish, wait, revoke: each step is recorded before it is taken",
		Tests: []Test{{identity, "converges with one key after an interruption at any effect"},
			{rotation, "is taken over from by the next one"}},
	},
	{
		Number: 30, Group: groupCall, Title: "The order of levels and targets is lost, or drifts for ever",
		Sources: []string{hub + "crossplane-contrib/provider-pagerduty/issues/92", hub + "PagerDuty/terraform-provider-pagerduty/issues/639"},
		Answer:  "both lists are atomic, compared in order, and sent as they are",
		Tests:   []Test{{"controllers/terdut/escalation", "TestOrderIsExact"}, {kinds, "changes every field of a policy, order included"}},
	},
}
