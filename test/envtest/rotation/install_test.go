package rotation_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"

	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

// install is one server in the platform team's namespace and a tenant that it
// admits.
type install struct{ *steps.Install }

// newInstall makes an install and waits until the operator has its key.
func newInstall(ctx context.Context) *install {
	GinkgoHelper()
	return &install{Install: env.ReadyInstall(ctx, refserver.Options{})}
}
