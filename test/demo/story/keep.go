package story

// invite says how to look around while everything keeps running.
func (w *world) invite() {
	w.Blank()
	w.Line("Everything keeps running. In another terminal:")
	w.Blank()
	for _, line := range w.Access() {
		w.Line("  %s", line)
	}
	w.Line("  kubectl get terdut -A")
	w.Line("  kubectl get events.events.k8s.io -A --field-selector reportingController=terdut-operator")
	w.Line("  kubectl -n %s edit terdutteam %s", payments, teamName)
	w.Blank()
	w.Line("The server's API, by the name of its Service, with the operator's key:")
	w.Blank()
	w.Line("  key() { kubectl -n %s get secret %s-operator-credentials -o go-template='{{.data.key|base64decode}}'; }", platform, serverName)
	w.Line("  curl -x %s -H \"Authorization: Bearer $(key)\" %s/api/teams", w.Node.ProxyURL(), address)
	w.Blank()
	w.Line("Logs: %s", w.Logs())
	w.Line("Ctrl-C here takes everything down.")
}
