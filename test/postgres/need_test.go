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
	Need(t)
	var found verdict
	Need(&found)
	NewWithT(t).Expect(found.text).To(BeEmpty())

	whole := debian
	defer func() { debian = whole }()
	debian = t.TempDir()
	t.Setenv("PATH", "")
	for ci, want := range map[string]string{"": "skip", "true": "fail"} {
		t.Setenv("CI", ci)
		var missing verdict
		Need(&missing)
		NewWithT(t).Expect(missing.text).To(Equal(want +
			": PostgreSQL is not installed: apt-get install postgresql, or put initdb and postgres into PATH"))
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
