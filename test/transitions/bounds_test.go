package transitions_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// bad is a value beyond one bound of a field.
type bad struct {
	node
	bound string
	start fields
	value any
}

func (b bad) title() string { return b.path + " beyond its " + b.bound }

// badOf are the values beyond each bound that the schema gives a field. A bound
// on all items of a list is tried on its first.
func badOf(n node, start fields) []bad {
	var out []bad
	add := func(bound string, value any) {
		out = append(out, bad{node: n, bound: bound, start: start, value: value})
	}
	s := n.schema
	limits(n, start, add)
	if len(s.Enum) > 0 {
		add("values", "Other")
	}
	if s.Type == "string" || s.XIntOrString {
		add("type", true)
	} else {
		add("type", "text")
	}
	if n.required && !strings.Contains(n.path, "{}") {
		add("presence", gone{})
	}
	for i, one := range junk(n) {
		add(fmt.Sprintf("sense %d", i+1), one)
	}
	return append(out, sizes(n, start)...)
}

// limits are values beyond what the schema says of texts and numbers.
func limits(n node, start fields, add func(bound string, value any)) {
	s := n.schema
	if s.MaxLength != nil {
		add("greatest length", strings.Repeat("a", int(*s.MaxLength)+1))
	}
	if s.MinLength != nil && *s.MinLength > 0 {
		add("least length", "")
	}
	if s.Pattern != "" {
		add("pattern", " ,:\x00")
		// The end of a line must not pass for the end.
		if now, is := look(start, n.path); is && !regexp.MustCompile(s.Pattern).MatchString(fmt.Sprint(now)+"\n") {
			add("pattern by a line", fmt.Sprint(now)+"\n")
		}
	}
	if s.Minimum != nil {
		add("minimum", int64(*s.Minimum)-1)
	}
	if s.Maximum != nil {
		add("maximum", int64(*s.Maximum)+1)
	}
}

// junk are values of a span of time, or of an amount, that are none: one that a
// client cannot decode would fail the list of the whole kind.
func junk(n node) []any {
	for _, rule := range n.schema.XValidations {
		if strings.Contains(rule.Message, "write a duration") {
			return []any{
				"", " ", "0", "15", "-15m", "+15m", "15 m", "15m ", "15m\n", "1d", "1w", "1h30", "1.h", ".5h", "1e3s", "0x10s", "1us", "1ns", "1µs", "soon", "∞", "١٥m",
				"NaNs", "999999h", "99999999m", "null", "$(env)",
			}
		}
	}
	if n.schema.XIntOrString {
		return []any{"", " ", "one", "1 Gi", "1Gi ", "1gi", "--1", "1.2.3", "1e", "0x10", "NaN", "∞", "١", "1Gi\n", "$(env)"}
	}
	return nil
}

// sizes are lists and maps beyond their sizes.
func sizes(n node, start fields) []bad {
	var out []bad
	now, _ := look(start, n.path)
	if most := n.schema.MaxItems; most != nil {
		if list, is := now.([]any); is && len(list) > 0 {
			many := make([]any, *most+1)
			for i := range many {
				many[i] = runtime.DeepCopyJSONValue(list[0])
			}
			out = append(out, bad{node: n, bound: "greatest number", start: start, value: many})
		}
	}
	if least := n.schema.MinItems; least != nil && *least > 0 {
		out = append(out, bad{node: n, bound: "least number", start: start, value: []any{}})
	}
	if most := n.schema.MaxProperties; most != nil {
		many := fields{}
		for i := range *most + 1 {
			many[fmt.Sprintf("example.com/key-%d", i)] = "1"
		}
		out = append(out, bad{node: n, bound: "greatest number", start: start, value: many})
	}
	return out
}

// refusedBy tells what is wrong with the answer to a bad value; empty when it is
// refused with words about the field.
func (w *world) refusedBy(ctx context.Context, b bad) string {
	err := w.change(ctx, with(b.start, b.path, b.value))
	switch {
	case err == nil:
		return "it is taken"
	case !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
		return err.Error()
	}
	leaf := token.FindAllString(b.path, -1)
	for i := len(leaf) - 1; i >= 0; i-- {
		if leaf[i] != "[]" && leaf[i] != "{}" {
			if !strings.Contains(err.Error(), leaf[i]) {
				return "the refusal does not name " + leaf[i] + ": " + err.Error()
			}
			return ""
		}
	}
	return ""
}

// boundsOf are the bad values of a kind, by the base that they start from.
func boundsOf(kind string) map[string][]bad {
	nodes, err := schemaOf(kind)
	Expect(err).NotTo(HaveOccurred())
	groups, _ := groupsOf(kind)
	at := map[string]group{}
	for _, g := range groups {
		at[g.path] = g
	}
	out := map[string][]bad{}
	whole := ""
	for _, n := range nodes {
		if whole != "" && within(n.path, whole) {
			continue
		}
		g, has := at[n.path]
		if !has {
			continue
		}
		if g.sample.Whole {
			whole = n.path
		}
		out[g.base] = append(out[g.base], badOf(n, g.start)...)
	}
	return out
}

var _ = Describe("every bound of the schemas", func() {
	It("refuses what is beyond it by the name of the field, and nothing happens", func(ctx SpecContext) {
		only := regexp.MustCompile(os.Getenv("CELLS"))
		var failures []string
		fail := func(what, why string) {
			failures = append(failures, fmt.Sprintf("%s: %s\n  alone: CELLS='^%s$' go test -count=1 ./test/transitions", what, why, regexp.QuoteMeta(what)))
		}
		for _, kind := range kinds {
			for base, all := range boundsOf(kind) {
				chosen := all[:0]
				for _, b := range all {
					if only.MatchString(kind + " " + b.title()) {
						chosen = append(chosen, b)
					}
				}
				if len(chosen) == 0 {
					continue
				}
				w, before := settled(ctx, kind, base)
				for _, b := range chosen {
					why := w.refusedBy(ctx, b)
					if inputs.refuse(why == ""); why != "" {
						fail(kind+" "+b.title(), why)
					}
				}
				object := w.object(fields{})
				Expect(env.Admin.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
				if object.GetResourceVersion() != before || w.peer.Writes() > 0 {
					fail(kind, "something happened to base "+base+", or on its server")
				}
			}
		}
		Expect(failures).To(BeEmpty(), "\n"+strings.Join(failures, "\n"))
	})
})

// settled is a world in which the object of a base has come to rest, and its
// resourceVersion.
func settled(ctx context.Context, kind, base string) (w *world, version string) {
	GinkgoHelper()
	all, err := samplesOf(kind)
	Expect(err).NotTo(HaveOccurred())
	w, err = born(ctx, kind, base, all.Bases[base])
	Expect(err).NotTo(HaveOccurred())
	twin, err := born(ctx, kind, base, all.Bases[base])
	Expect(err).NotTo(HaveOccurred())
	Expect(same(ctx, w, twin)).To(Succeed())
	object := w.object(fields{})
	quiet := 0
	Expect(until(ctx, func() string {
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err.Error()
		}
		if now := object.GetResourceVersion(); now != version {
			version, quiet = now, 0
		}
		if quiet++; quiet < 20 {
			return "it still changes"
		}
		return ""
	})).To(Succeed())
	w.peer.ResetRequests()
	return w, version
}
