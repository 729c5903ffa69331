package cel_test

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// limit is what the schema says about one field, and values on both sides of it.
type limit struct {
	node
	pass, fail []edit
	// says is what the API server says about fail.
	says string
}

// limitsOf reads the limits of a field of the spec from its schema. Accepted values are tried where the schema alone
// decides; a string of the greatest length need not fit a pattern or a rule.
func limitsOf(n node) []limit {
	var limits []limit
	add := func(says string, fail []edit, pass ...edit) {
		limits = append(limits, limit{node: n, pass: pass, fail: fail, says: says})
	}
	at, schema := n.in(), n.schema
	if schema.MaxLength != nil {
		add("Too long", []edit{set(at, strings.Repeat("a", int(*schema.MaxLength)+1))})
	}
	if schema.MinLength != nil && *schema.MinLength > 0 {
		add("at least", []edit{set(at, "")})
	}
	if schema.Pattern != "" {
		add("should match", []edit{set(at, " , "), set(at, ",$(X)\x00")})
	}
	if schema.Minimum != nil {
		add("greater than or equal to", []edit{set(at, *schema.Minimum-1)}, set(at, *schema.Minimum))
	}
	if schema.Maximum != nil {
		add("less than or equal to", []edit{set(at, *schema.Maximum+1)}, set(at, *schema.Maximum))
	}
	if len(schema.Enum) > 0 {
		add("Unsupported value", []edit{set(at, "Other"), set(at, "")})
	}
	limits = append(limits, sizesOf(n)...)
	if n.required && schema.Default == nil {
		add("Required value", []edit{unset(at)})
	}
	if schema.Type == "string" {
		add("must be of type", []edit{set(at, 1)})
	} else {
		add("must be of type", []edit{set(at, "1")})
	}
	return limits
}

// sizesOf reads the limits of a list or a map.
func sizesOf(n node) []limit {
	var limits []limit
	add := func(says string, fail []edit, pass ...edit) {
		limits = append(limits, limit{node: n, pass: pass, fail: fail, says: says})
	}
	at, schema := n.in(), n.schema
	if schema.MaxItems != nil {
		most := int(*schema.MaxItems)
		add("Too many", []edit{set(at, items(n, most+1))}, set(at, items(n, most)))
	}
	if schema.MaxProperties != nil {
		most := int(*schema.MaxProperties)
		add("must have at most", []edit{set(at, properties(n, most+1))}, set(at, properties(n, most)))
	}
	if schema.MinItems != nil && *schema.MinItems > 0 {
		add("at least", []edit{set(at, []any{})})
	}
	return limits
}

// items makes a list of that length out of the first item in the base, each one different.
func items(n node, count int) []any {
	first := lookup(base(n.kind), n.in()+"[0]")
	Expect(first).NotTo(BeNil(), "the base of %s has no item in %s", n.kind, n.path)
	list := make([]any, 0, count)
	for index := range count {
		switch item := first.(type) {
		case string:
			list = append(list, fmt.Sprintf("%s-%d", item, index))
		case fields:
			copied := normal(item).(fields)
			if copied["username"] != nil {
				copied["username"] = fmt.Sprintf("user-%d", index)
			}
			if keys := n.schema.XListMapKeys; len(keys) > 0 && index > 0 {
				copied[keys[0]] = fmt.Sprintf("%v-%d", copied[keys[0]], index)
			}
			list = append(list, copied)
		default:
			Fail(fmt.Sprintf("cannot copy an item of %s %s", n.kind, n.path))
		}
	}
	return list
}

// properties makes a map of that size out of a value in the base.
func properties(n node, count int) fields {
	first, isMap := lookup(base(n.kind), n.in()).(fields)
	Expect(isMap && len(first) > 0).To(BeTrue(), "the base of %s has no entry in %s", n.kind, n.path)
	all := make(fields, count)
	for index := range count {
		for _, value := range first {
			all[fmt.Sprintf("example.com/key-%d", index)] = value
		}
	}
	return all
}

var _ = Describe("Limits of the spec", Label(caseLabel), func() {
	for _, n := range schemaNodes() {
		if !strings.HasPrefix(n.path, "spec") || explained(n) != "" || strings.Contains(n.path, "{}") {
			continue
		}
		for _, l := range limitsOf(n) {
			for _, e := range l.pass {
				It(fmt.Sprintf("of %s accept %s", n.kind, e.text()), func(ctx SpecContext) {
					Expect(create(e).try(ctx, n.kind)).To(Succeed())
				})
			}
			for _, e := range l.fail {
				It(fmt.Sprintf("of %s refuse %s", n.kind, e.text()), func(ctx SpecContext) {
					expectRefusal(create(e).try(ctx, n.kind), n.path, l.says)
				})
			}
		}
	}

	for _, kind := range kinds {
		It(fmt.Sprintf("of %s accept the base, which has every field", kind), func(ctx SpecContext) {
			Expect(create().try(ctx, kind)).To(Succeed())
			for _, n := range schemaNodes() {
				if n.kind != kind || !strings.HasPrefix(n.path, "spec") || strings.Contains(n.path, "{}") || explained(n) != "" || excludedByOthers[n.path] {
					continue
				}
				Expect(lookup(base(kind), n.in())).NotTo(BeNil(), "add %s to testdata", n.path)
			}
		})
		It(fmt.Sprintf("of %s refuse a field that does not exist", kind), func(ctx SpecContext) {
			err := create(set("spec.fieldThatDoesNotExist", true)).try(ctx, kind)
			Expect(err).To(MatchError(ContainSubstring(`unknown field "spec.fieldThatDoesNotExist"`)))
		})
	}
})

// excludedByOthers are fields that no object can have together with all others.
var excludedByOthers = map[string]bool{
	"spec.database.postgresClusterRef":          true,
	"spec.database.postgresClusterRef.name":     true,
	"spec.database.postgresClusterRef.database": true,
	"spec.database.postgresClusterRef.user":     true,
	"spec.database.cnpgClusterRef":              true,
	"spec.database.cnpgClusterRef.name":         true,
	"spec.database.cnpgClusterRef.database":     true,
	"spec.database.cnpgClusterRef.user":         true,
	"spec.database.sslMode":                     true,
	"spec.external":                             true,
	"spec.external.url":                         true,
	"spec.external.caSecretRef":                 true,
	"spec.external.caSecretRef.name":            true,
	"spec.external.caSecretRef.key":             true,
	"spec.external.adminKeySecretRef":           true,
	"spec.external.adminKeySecretRef.name":      true,
	"spec.external.adminKeySecretRef.key":       true,
	"spec.extraVolumeMounts[].subPathExpr":      true,
}

// ofKubernetes explains a type that Kubernetes defines and the API server checks once more when it is applied to the pod.
// Its fields are those of the Kubernetes version that this was built with, with its bounds and list types and no others.
const ofKubernetes = "a type of Kubernetes, bounded by the size of a request"

// explanations are the places (beginnings of paths) without a limit of ours, each with the reason.
var explanations = []struct{ path, why string }{
	{"apiVersion", "set by Kubernetes and compared with the served versions"},
	{"kind", "set by Kubernetes and compared with the served kinds"},
	{"metadata", "validated by Kubernetes"},
	{"spec.allowedTeams.namespaces.selector.match", "a LabelSelector is a type of Kubernetes, bounded by the size of a request"},
	{"spec.tolerations[].", ofKubernetes},
	{"spec.affinity.", ofKubernetes},
	{"spec.topologySpreadConstraints[].", ofKubernetes},
	{"spec.podSecurityContext.", ofKubernetes},
	{"spec.containerSecurityContext.", ofKubernetes},
	{"spec.extraEnv[].valueFrom", ofKubernetes + "; excludes value"},
	{"spec.extraVolumes[].configMap", ofKubernetes + "; excludes the other sources"},
	{"spec.extraVolumes[].secret.", ofKubernetes},
	{"spec.extraVolumes[].emptyDir", ofKubernetes + "; excludes the other sources"},
	{"spec.extraVolumes[].persistentVolumeClaim", ofKubernetes + "; excludes the other sources"},
	{"spec.extraVolumes[].projected", ofKubernetes + "; excludes the other sources"},
	{"spec.extraVolumes[].csi", ofKubernetes + "; excludes the other sources"},
}

// explained is the reason why the node has no limit of ours, empty when it must have one.
func explained(n node) string {
	for _, e := range explanations {
		if strings.HasPrefix(n.path, e.path) {
			return e.why
		}
	}
	return ""
}

var _ = Describe("Every field", func() {
	It("has a greatest length, a greatest number of items and a list type", func() {
		var missing []string
		for _, n := range schemaNodes() {
			if explained(n) != "" {
				continue
			}
			missing = append(missing, lacks(n)...)
		}
		Expect(missing).To(BeEmpty())
	})

	It("has documentation", func() {
		for _, n := range schemaNodes() {
			if n.path == "metadata" || strings.HasSuffix(n.path, "[]") || strings.HasSuffix(n.path, "{}") {
				continue
			}
			Expect(n.schema.Description).NotTo(BeEmpty(), "%s %s", n.kind, n.path)
		}
	})

	It("whose lack of a limit is explained still exists", func() {
		for _, e := range explanations {
			exists := slices.ContainsFunc(schemaNodes(), func(n node) bool { return strings.HasPrefix(n.path, e.path) })
			Expect(exists).To(BeTrue(), "remove the explanation of %s: nothing is there", e.path)
		}
	})
})

func lacks(n node) []string {
	var missing []string
	add := func(what string) { missing = append(missing, fmt.Sprintf("%s %s: %s", n.kind, n.path, what)) }
	switch schema := n.schema; schema.Type {
	case "string":
		if schema.MaxLength == nil && len(schema.Enum) == 0 && schema.Format != "date-time" {
			add("maxLength")
		}
	case "array":
		if schema.MaxItems == nil {
			add("maxItems")
		}
		if schema.XListType == nil {
			add("list type")
		}
	case "object":
		if schema.AdditionalProperties != nil && schema.MaxProperties == nil {
			add("maxProperties")
		}
	}
	return missing
}
