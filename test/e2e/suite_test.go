package e2e

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/source"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

// suite names the figures.
const suite = "e2e"

const (
	// patience is how long one change may take to show its effect: an operator that was killed without warning leaves a
	// lease that runs for 15 seconds more, and the next kill may come before everything is done.
	patience = 4 * time.Minute
	// stepLimit ends a step that hangs.
	stepLimit = 10 * time.Minute
	// startLimit leaves time to build every program of a node on a cold machine.
	startLimit = 50 * time.Minute
	pollEvery  = 500 * time.Millisecond
)

func TestEndToEnd(t *testing.T) {
	if os.Getenv("E2E") == "" {
		t.Skip("this takes a whole cluster: make e2e")
	}
	ctrl.SetLogger(logr.Discard())
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(pollEvery)
	suiteConfig, reporterConfig := GinkgoConfiguration()
	suiteConfig.FailFast = true
	RunSpecs(t, "End to end", suiteConfig, reporterConfig)
}

// step is one part of the life of an installation.
type step struct {
	name string
	do   func(context.Context)
	// unsettled steps end before both sides can agree.
	unsettled bool
}

var (
	w     *world
	began = time.Now()
	// passed and skipped steps.
	passed, skipped int
)

var _ = Describe("An installation", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		Expect(figures.Start(suite)).To(Succeed())
		root, err := source.Root()
		Expect(err).NotTo(HaveOccurred())
		w, err = newWorld(ctx, root, filepath.Join(root, ".e2e"))
		Expect(err).NotTo(HaveOccurred())
		say("on %s, with the %s; %.0f s to get there", w.cluster.Name(), w.server.what, time.Since(began).Seconds())
	}, NodeTimeout(startLimit))

	for i, s := range plan() {
		It(fmt.Sprintf("%02d %s", i+1, s.name), func(ctx SpecContext) {
			begin := time.Now()
			s.do(ctx)
			agreement := "both sides are compared later"
			if !s.unsettled {
				agreement = agree(ctx)
			}
			passed++
			say("step %02d ok in %.1f s, %s: %s", i+1, time.Since(begin).Seconds(), s.name, agreement)
		}, NodeTimeout(stepLimit))
	}

	ReportAfterEach(func(report SpecReport) {
		if report.Failed() && w != nil {
			w.dump()
		}
	})

	AfterAll(func(ctx SpecContext) {
		total := len(plan()) - skipped
		failed := errors.Join(
			figures.Count(suite, "e2e-steps", passed, total),
			figures.Value(suite, "e2e-seconds", math.Round(time.Since(began).Seconds()), "s"),
		)
		if w != nil {
			failed = errors.Join(failed, figures.Value(suite, "e2e-operator-kills", w.killer.count(), ""))
			say("%d of %d steps in %.0f s, on %s, with the %s", passed, total, time.Since(began).Seconds(), w.cluster.Name(), w.server.what)
			failed = errors.Join(failed, w.stop(ctx))
		}
		Expect(failed).NotTo(HaveOccurred())
	}, NodeTimeout(stepLimit))
})

// agree waits until both sides agree and tells what was compared. Then no Secret may have got out.
func agree(ctx context.Context) string {
	GinkgoHelper()
	var compared fmt.Stringer
	Eventually(ctx, func(g Gomega) {
		result, err := w.sides.Compare(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		compared = result
	}).Should(Succeed())
	w.sealed(ctx)
	return compared.String()
}

// skip ends a step that cannot be played here. It counts for nothing.
func skip(format string, args ...any) {
	skipped++
	say("step skipped: "+format, args...)
	Skip(fmt.Sprintf(format, args...))
}

// say shows progress at once, whatever Ginkgo keeps back.
func say(format string, args ...any) {
	fmt.Printf("e2e: "+format+"\n", args...)
}
