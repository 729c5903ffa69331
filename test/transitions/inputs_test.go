package transitions_test

import (
	"errors"
	"os"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

// given counts what was given to API server and operator that makes no sense, by
// how it ended.
type given struct {
	sync.Mutex
	// refused by the API server; handled by a condition, or taken for what it is
	// where it only looks odd; wedged is what did not come back.
	tried, refused, handled, odd, wedged int
}

var inputs = &given{}

// handle notes how a spec ended that the API server takes.
func (g *given) handle(c wrong, err error) {
	g.Lock()
	defer g.Unlock()
	g.tried++
	switch {
	case errors.Is(err, errWedged):
		g.wedged++
	case err == nil && c.reason == v1alpha1.ReasonReady:
		g.odd++
	case err == nil:
		g.handled++
	}
}

// refuse notes what was given to the API server.
func (g *given) refuse(refused bool) {
	g.Lock()
	defer g.Unlock()
	g.tried++
	if refused {
		g.refused++
	}
}

var _ = AfterSuite(func() {
	if os.Getenv("CELLS") != "" || inputs.tried == 0 {
		return
	}
	Expect(figures.Count(suite, "invalid-inputs", inputs.refused+inputs.handled+inputs.odd, inputs.tried)).To(Succeed())
	Expect(figures.Value(suite, "invalid-inputs-refused", inputs.refused, "")).To(Succeed())
	Expect(figures.Value(suite, "invalid-inputs-by-condition", inputs.handled, "")).To(Succeed())
	Expect(figures.Value(suite, "invalid-inputs-only-odd", inputs.odd, "")).To(Succeed())
	Expect(figures.Value(suite, "invalid-inputs-wedged", inputs.wedged, "")).To(Succeed())
})
