package postgres

import (
	"fmt"
	"net"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
)

// verdict notes what Need decided.
type verdict struct{ text string }

// Helper implements T.
func (v *verdict) Helper() {}

// Skip implements T.
func (v *verdict) Skip(args ...any) { v.text = "skip: " + fmt.Sprint(args...) }

// Fatal implements T.
func (v *verdict) Fatal(args ...any) { v.text = "fail: " + fmt.Sprint(args...) }

func TestNeed(t *testing.T) {
	if _, ok := locate(); ok {
		t.Setenv("PATH", "")
	}
	if _, ok := locate(); ok {
		var v verdict
		Need(&v)
		NewWithT(t).Expect(v.text).To(BeEmpty())
		return // the packages of the machine cannot be hidden
	}
	for _, c := range []struct{ ci, want string }{{"", "skip: PostgreSQL is not"}, {"true", "fail: PostgreSQL is not"}} {
		t.Setenv("CI", c.ci)
		var v verdict
		Need(&v)
		NewWithT(t).Expect(v.text).To(HavePrefix(c.want))
	}
}

func TestPortIsTaken(t *testing.T) {
	Need(t)
	g := NewWithT(t)
	pg, err := Start(t.Context(), Options{})
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(pg.Stop()).To(Succeed()) }()
	g.Expect(pg.Down()).To(Succeed())
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(pg.Host, strconv.Itoa(pg.Port)))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pg.Up(t.Context())).To(MatchError(errPortTaken))
	g.Expect(listener.Close()).To(Succeed())
	g.Expect(pg.Up(t.Context())).To(Succeed())
}
