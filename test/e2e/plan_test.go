package e2e

// plan is the life of an installation. Each step goes on where the one before it has ended.
func plan() []step {
	return []step{
		{name: "helm installs the operator", do: install},
		{name: "the cross-namespace sample is applied", do: applySample, unsettled: true},
		{name: "the server runs against a real PostgreSQL, with the password of a Secret", do: serverRuns},
		{name: "the server's own API has one object of each kind", do: oneOfEach},
		{name: "Alertmanager pages through the generated Secret", do: alert},
		{name: "the database's password and the operator's key are rotated", do: rotate},
		{name: "the server's image is upgraded", do: upgradeServer},
		{name: "another replica takes over from the leader", do: failOver},
		{name: "API server and etcd are restarted", do: restartControlPlane},
		{name: "the server's pod is killed", do: killServer},
		{name: "consent is taken away, and given back", do: consent},
		{name: "the chart is upgraded from the previous commit's", do: upgradeChart},
		{name: "a server of an old chart is taken over", do: takeOver},
		{name: "kubectl deletes every resource of the sample, and its namespaces", do: deleteSample},
		{name: "helm uninstalls the operator and touches no resource", do: uninstall},
		{name: "the full removal leaves nothing", do: remove},
		{name: "the operator lives with Roles in two namespaces", do: namespaced},
	}
}
