package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Kubectl runs kubectl as the administrator, in the root of the source tree, and returns what it prints.
func (s *Stage) Kubectl(ctx context.Context, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := s.plane.Kubectl(ctx, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.Root, &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), complaint(stderr.String(), err))
	}
	return strings.TrimSpace(stdout.String()), nil
}

// complaint is the line with which kubectl says what is wrong; hints on its usage may follow that.
func complaint(said string, err error) error {
	for line := range strings.SplitSeq(said, "\n") {
		if strings.HasPrefix(strings.ToLower(line), "error") {
			return errors.New(strings.TrimSpace(line))
		}
	}
	if last := lastLine(said); last != "" {
		return errors.New(last)
	}
	return err
}

// Access says how a person reaches the cluster from another terminal: lines for a shell.
func (s *Stage) Access() []string {
	return []string{
		"export KUBECONFIG=" + s.plane.AdminKubeconfig(),
		`export PATH="` + filepath.Dir(s.plane.Assets.Kubectl) + `:$PATH"`,
	}
}
