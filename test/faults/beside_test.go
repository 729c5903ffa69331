package faults

import (
	"strconv"
	"testing"
	"testing/synctest"
)

// TestSideBySide: runs of a scenario share nothing, so that the campaign may play
// them at the same time. The race detector is who looks.
func TestSideBySide(t *testing.T) {
	for _, s := range Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			for i := range 2 {
				t.Run(strconv.Itoa(i), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						if _, v, err := s.refer(); err != nil || len(v.Wrong) > 0 {
							t.Errorf("undisturbed: %v %v", err, v.Wrong)
						}
					})
				})
			}
		})
	}
}
