package transitions_test

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// neverChanges tells whether a change was refused because the field never does.
func neverChanges(err error) bool {
	return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "is immutable")
}

// detourOf are the first step of a group that the API server takes, and the last
// one that leads to the same from anywhere: what it leads to must not depend on
// the first, fit or unfit.
func detourOf(ctx context.Context, f *fresh, g group) (by, to *change) {
	for i := range g.steps {
		c := &g.steps[i]
		if _, err := f.of(ctx, g.kind, g.base, c.spec); err != nil {
			continue
		}
		_, unfit := g.sample.Unfit[c.name]
		switch {
		case by == nil:
			by = c
		case !unfit && !g.sample.lasts(c.name):
			to = c
		}
	}
	return by, to
}

// order goes by one step to another, at rest in between. The way back is by the
// first one again, so fast that the operator may not have seen it.
func (l *lane) order(ctx context.Context, g group, by, to *change) error {
	want, err := l.fresh.of(ctx, l.kind, l.base, to.spec)
	if err != nil {
		return err
	}
	start, err := l.begin(ctx, g.start)
	if err != nil {
		return err
	}
	for _, c := range []*change{by, to} {
		if err = l.change(ctx, c.spec); neverChanges(err) {
			return l.back(ctx, g, start)
		} else if err != nil {
			return fmt.Errorf("%s on the way from %s to %s: %w", c.name, by.name, to.name, err)
		}
		if err = until(ctx, func() string { return l.world.seenNow(ctx) }, l.world); err != nil {
			return err
		}
	}
	if err = l.rest(ctx, to.spec, want); err != nil {
		return fmt.Errorf("%s reached by %s and created differ: %w", to.name, by.name, err)
	}
	if err = l.change(ctx, by.spec); err != nil {
		return fmt.Errorf("%s on the way back: %w", by.name, err)
	}
	return l.back(ctx, g, start)
}
