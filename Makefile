# terdut-operator: `make help` lists what there is.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Tools are pinned in modules of their own and built once into Go's cache.
TOOL := go tool -modfile=hack/tools/go.mod
LINT := go tool -modfile=hack/lint/go.mod golangci-lint-kube-api-linter

# Suites that start a real API server. Everything else is unit tests.
REAL := ./test/chart/... ./test/helm/... ./test/cel/... ./test/controlplane/... ./test/localnode/... ./test/envtest/... ./controllers/internal/apply/envtest/...
# This one measures, so nothing runs beside it. The others wait most of the time, and two run side by side.
LOAD := ./test/envtest/load
# Suites on a whole node take root; they run by `make e2e`.
NODE := ./test/node/...
# Campaigns try everything there is to try, and take some hours together; they run by `make campaign`.
CAMPAIGN := ./test/transitions/...
REAL_DIRS := $(subst ./,,$(subst /...,,$(REAL) $(NODE) $(CAMPAIGN)))
# What walks through interruptions, one run after the other on one goroutine, where the race detector finds nothing and
# its memory grows without end. It gets a part of the first, and of the second the runs that go side by side.
WALKS := ./controllers/internal/remote ./test/faults
RESULTS := .test

.PHONY: help
help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: generate
generate: ## Regenerate everything that is generated, and tidy the modules.
	go mod tidy
	for m in hack/tools hack/lint; do (cd $$m && go mod tidy); done
	rm -rf applyconfig/terdut
	$(TOOL) controller-gen object crd applyconfiguration paths=./api/... output:crd:dir=config/crd
	$(TOOL) controller-gen rbac:roleName=terdut-operator paths=./controllers/... output:rbac:dir=config/rbac
	@$(MAKE) --no-print-directory chart
	$(TOOL) oapi-codegen -config terdutapi/cfg.yaml openapi/terdut.yaml
	$(TOOL) oapi-codegen -config test/refserver/internal/gen/cfg.yaml openapi/terdut.yaml

.PHONY: chart
chart: ## Copy into the chart what it shares with config/: custom resource definitions and rights.
	rm -rf charts/terdut-operator/crds charts/terdut-operator/rbac
	mkdir charts/terdut-operator/crds charts/terdut-operator/rbac
	cp config/crd/terdut.ryuvia.com_*.yaml charts/terdut-operator/crds/
	cp config/rbac/*role.yaml charts/terdut-operator/rbac/
	cp config/namespaced/watched/role.yaml charts/terdut-operator/rbac/namespaced_role.yaml

MANIFESTS := bin/manifests

.PHONY: manifests
manifests: ## Write config/default into one file, and the custom resource definitions into another, in bin/manifests.
	mkdir -p $(MANIFESTS)
	kubectl=$$(go run ./test/controlplane/cmd/controlplane build | grep '/kubectl$$') && \
		$$kubectl kustomize config/default >$(MANIFESTS)/terdut-operator.yaml && \
		$$kubectl kustomize config/crd >$(MANIFESTS)/terdut-operator-crds.yaml
	@ls -l $(MANIFESTS)

.PHONY: verify
verify: generate ## Fail if generating changes anything.
	@git diff --exit-code --stat -- . || { echo "verify: generated files are out of date: commit what \`make generate\` changes"; exit 1; }
	@test -z "$$(git status --porcelain -- api applyconfig config charts terdutapi test/refserver/internal/gen)" || \
		{ git status --short; echo "verify: generated files are not committed"; exit 1; }

.PHONY: lint
lint: ## Check the rules of CONTRIBUTING.md that a machine can check.
	$(LINT) run ./...

.PHONY: test
test: ## Run the unit tests under the race detector, then the suites on a real API server.
	@mkdir -p $(RESULTS) && rm -f $(RESULTS)/*.json
	go run ./test/controlplane/cmd/controlplane build
	go run ./test/helm/cmd/helm
	$(TOOL) gotestsum --format pkgname --format-hide-empty-pkg --jsonfile $(RESULTS)/unit.json -- -race \
		$$(go list ./... | grep -vE '/($(subst $(eval ) ,|,$(REAL_DIRS)))(/|$$)|/test/faults$$')
	$(TOOL) gotestsum --format pkgname --format-hide-empty-pkg --jsonfile $(RESULTS)/beside.json -- -race -run SideBySide ./test/faults
	$(TOOL) gotestsum --format pkgname --format-hide-empty-pkg --jsonfile $(RESULTS)/real.json -- -count=1 -p=2 -timeout=40m \
		$(WALKS) $$(go list $(REAL) | grep -v '/$(LOAD:./%=%)$$')
	$(TOOL) gotestsum --format pkgname --format-hide-empty-pkg --jsonfile $(RESULTS)/load.json -- -count=1 -timeout=20m $(LOAD)
	go run ./test/rbac/cmd/rbac
	@$(MAKE) --no-print-directory figures
	@$(TOOL) gotestsum --format pkgname --format-hide-empty-pkg --raw-command -- cat $(RESULTS)/unit.json $(RESULTS)/beside.json $(RESULTS)/real.json $(RESULTS)/load.json

.PHONY: campaign
campaign: ## Change every field of every kind in every way, and interrupt the operator at every write in every way. FULL=1: in every pair.
	@$(MAKE) --no-print-directory --keep-going campaign-in-memory campaign-seeds campaign-real campaign-fields

# Its parts; each runs whatever has become of the others.
.PHONY: campaign-in-memory campaign-seeds campaign-real campaign-fields
campaign-in-memory:
	SINGLES=$${SINGLES:-0} ENDS=$${ENDS:-0} VIEWS=$${VIEWS:-0} READS=$${READS:-0} PAIRS=$${PAIRS:-0} go test -count=1 -timeout=6h ./test/faults -run Campaign -v

campaign-seeds:
	go run ./test/faults/seeds

campaign-real:
	go run ./test/controlplane/cmd/controlplane build
	SINGLES=$${SINGLES:-0} LONG=$${LONG:-4} go test -count=1 -timeout=3h ./test/envtest/interrupted -run Campaign -v

campaign-fields:
	go run ./test/controlplane/cmd/controlplane build
	go test -count=1 -p=1 -timeout=1h $(CAMPAIGN)

.PHONY: fuzz
fuzz: ## Fuzz each fuzz test for FUZZTIME (10s), one after the other. KEEP=1 keeps what was found in testdata/fuzz.
	@go run ./test/fuzz -time $(or $(FUZZTIME),10s) $(if $(KEEP),-keep)

.PHONY: demo
demo: ## From nothing to five Ready objects, and what happens to them. KEEP=1 leaves it running.
	@go run ./test/demo

.PHONY: node
node: ## Run a Kubernetes node from source until Ctrl-C, as root on Linux. test/node/README.md says what it needs.
	@go run ./test/node/cmd/node up

.PHONY: images
images: ## Make the images of operator and reference server, as archives in .images/. VERSION= gives another tag.
	go -C hack/images test ./...
	go run ./test/e2e/cmd/images $(if $(VERSION),-version $(VERSION))

.PHONY: e2e
e2e: ## Play the whole life of an installation on a real node. docs/e2e.md says what it needs.
	go run ./test/node/cmd/node build
	go test -count=1 -p=1 -timeout=30m $(NODE)
	E2E=1 go test -count=1 -timeout=60m ./test/e2e -v -ginkgo.v

.PHONY: figures
figures: ## Print the figures of the last run of each suite.
	@cat .figures/* 2>/dev/null || echo "no suite has run yet: make test, make demo"
