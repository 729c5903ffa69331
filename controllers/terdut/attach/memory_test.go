package attach

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
)

// full is a state with everything in it. Its times are whole seconds of the
// local zone, as a decoded status has them.
func full() remote.State[string] {
	return remote.State[string]{
		Record: &remote.Record{
			Place: remote.Place{Server: types.NamespacedName{Namespace: "platform", Name: "terdut"}, ServerUID: "s", TeamID: 7},
			ID:    9, CreatedAt: "2030-01-01T00:00:00Z", OwnerUID: "o", Adopted: true,
		},
		Pending:            &remote.Pending{Name: "Alpha-terdut-12345678", ID: 3, Replaces: 9},
		Retiring:           []remote.Retired{{ID: 4, CreatedAt: "x", DeleteAfter: time.Unix(1893456000, 0)}, {ID: 5}},
		Conditions:         []metav1.Condition{{Type: "Ready", Status: "True", LastTransitionTime: metav1.NewTime(time.Unix(1893456000, 0))}},
		ObservedGeneration: 3,
	}
}

func TestStateSurvivesTheStatus(t *testing.T) {
	for name, s := range map[string]remote.State[string]{"full": full(), "new": {ObservedGeneration: -1}} {
		var status, decoded v1alpha1.RemoteStatus
		Store(&status, s)
		raw, err := json.Marshal(status)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &decoded); err != nil {
			t.Fatal(err)
		}
		if got := Load[string](&decoded); !reflect.DeepEqual(got, s) {
			t.Errorf("%s: stored %+v, loaded %+v", name, s, got)
		}
	}
}

// TestStoreForgets: what a state does not hold does not stay in the status.
func TestStoreForgets(t *testing.T) {
	var status v1alpha1.RemoteStatus
	Store(&status, full())
	Store(&status, remote.State[string]{})
	if want := (v1alpha1.RemoteStatus{ObservedGeneration: -1}); !reflect.DeepEqual(status, want) {
		t.Errorf("left in the status: %+v", status)
	}
}

func TestTime(t *testing.T) {
	at := time.Date(2030, 1, 1, 1, 0, 0, 5, time.FixedZone("", 3600))
	if got := Time(&at); got != "2030-01-01T00:00:00.000000005Z" {
		t.Errorf("Time is %q", got)
	}
	if Time(nil) != "" || Time(&time.Time{}) != "" {
		t.Error("no time must be empty")
	}
}
