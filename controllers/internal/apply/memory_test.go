package apply

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func testMemory() (*memory, *time.Time) {
	now := time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC)
	return newMemory(func() time.Time { return now }, time.Hour), &now
}

func TestMemoryIsBounded(t *testing.T) {
	m, now := testMemory()
	field := []FieldDrift{{Path: "spec", Manager: "m"}}
	for i := range maxObjects + 10 {
		m.took(types.UID(fmt.Sprint(i)), field)
		*now = now.Add(time.Second)
	}
	if len(m.objects) != maxObjects {
		t.Errorf("%d objects are remembered, want %d", len(m.objects), maxObjects)
	}
	if m.objects["9"] != nil || m.objects["10"] == nil {
		t.Error("what was used longest ago is not what was forgotten")
	}
	for i := range maxFights + 10 {
		m.took("11", []FieldDrift{{Path: fmt.Sprint(i), Manager: "m"}})
		*now = now.Add(time.Second)
	}
	fights := m.objects["11"].fights
	if len(fights) != maxFights {
		t.Errorf("%d fights are remembered, want %d", len(fights), maxFights)
	}
	if fights[contender{"9", "m"}] != nil || fights[contender{"10", "m"}] == nil {
		t.Error("the fight that is longest over is not what was forgotten")
	}
}

func TestMemoryOfNothingCostsNothing(t *testing.T) {
	m, _ := testMemory()
	m.cede("uid", nil)
	m.calm("uid", nil)
	if m.contested("uid") != nil || m.wereCeded("uid", nil) || len(m.held("uid", nil)) > 0 {
		t.Error("something is known of an object that was never seen")
	}
	if m.knowsNoOp("uid", "", func() string { return "" }) {
		t.Error("an apply that was never made is known")
	}
	if len(m.objects) > 0 {
		t.Error("settled objects are remembered")
	}
}

func TestMemoryOfNoOps(t *testing.T) {
	m, now := testMemory()
	m.changedNothing("uid", "7", "intent")
	knows := func(uid types.UID, version, intent string) bool {
		return m.knowsNoOp(uid, version, func() string { return intent })
	}
	if !knows("uid", "7", "intent") {
		t.Error("it is not remembered")
	}
	if knows("other", "7", "intent") || knows("uid", "8", "intent") || knows("uid", "7", "another") {
		t.Error("another object, version or intent is taken for it")
	}
	*now = now.Add(time.Hour)
	if knows("uid", "7", "intent") {
		t.Error("it is remembered for longer than a resync")
	}
}

func TestFightsAreCountedWithinTheWindow(t *testing.T) {
	m, now := testMemory()
	field := []FieldDrift{{Path: "spec", Manager: "m"}}
	for range contestedTakes {
		m.took("uid", field)
		*now = now.Add(contestedWindow / (contestedTakes - 1))
	}
	if len(m.contested("uid")) != 1 {
		t.Error("five times in ten minutes is not contested")
	}
	m, now = testMemory()
	for range 3 * contestedTakes {
		m.took("uid", field)
		*now = now.Add(contestedWindow/(contestedTakes-1) + time.Second)
	}
	if len(m.contested("uid")) != 0 {
		t.Error("five times in more than ten minutes are contested")
	}
	*now = now.Add(contestedWindow)
	m.calm("uid", field)
	if len(m.objects["uid"].fights) != 1 {
		t.Error("a fight is forgotten while the field differs")
	}
	m.calm("uid", nil)
	if len(m.objects["uid"].fights) != 0 {
		t.Error("a fight that is over is not forgotten")
	}
}
