package apply_test

import (
	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
	"slices"

	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

const figureSuite = "engine"

var (
	// noOps counts applies that changed nothing, save for the spec that provokes one.
	noOps int
	// takeoverDeleted, takeoverRollouts are what the takeovers did to objects that others rely on. -1 is not measured.
	takeoverDeleted, takeoverRollouts = -1, -1
)

var _ = ReportAfterSuite("figures", func(report Report) {
	passed, total := 0, 0
	for _, spec := range report.SpecReports {
		if !slices.Contains(spec.Labels(), engineCase[0]) || spec.State.Is(types.SpecStateSkipped|types.SpecStatePending) {
			continue
		}
		total++
		if spec.State.Is(types.SpecStatePassed) {
			passed++
		}
	}
	if len(report.SuiteConfig.FocusStrings)+len(report.SuiteConfig.SkipStrings) > 0 || takeoverDeleted < 0 {
		// A part of the suite: the figures of the whole stay.
		return
	}
	Expect(figures.Start(figureSuite)).To(Succeed())
	Expect(figures.Count(figureSuite, "engine-cases", passed, total)).To(Succeed())
	Expect(figures.Value(figureSuite, "noop-applies", noOps, "")).To(Succeed())
	Expect(figures.Value(figureSuite, "takeover-objects-deleted", takeoverDeleted, "")).To(Succeed())
	Expect(figures.Value(figureSuite, "takeover-rollouts", takeoverRollouts, "")).To(Succeed())
	Expect(noOps).To(BeZero())
})
