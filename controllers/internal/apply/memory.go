package apply

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// contestedTakes within contestedWindow make a field contested.
	contestedTakes  = 5
	contestedWindow = 10 * time.Minute
	// maxObjects and maxFights bound what is remembered. What is forgotten costs one more apply, or a few more rounds
	// until a field is called contested again, or a Secret one more making.
	maxObjects = 4096
	maxFights  = 64
)

// memory is what an engine remembers of objects besides the records: nothing that would be missed after a restart.
type memory struct {
	now    func() time.Time
	resync time.Duration

	mu      sync.Mutex
	objects map[types.UID]*remembered
}

// remembered is the memory of one object.
type remembered struct {
	used time.Time
	// version and intent are those of the last apply that changed nothing, which was then.
	version, intent string
	applied         time.Time
	// ceded are the paths that were left to others in the last pass.
	ceded map[string]bool
	// made are the names of the Secrets that were made for the object as their owner.
	made   map[string]bool
	fights map[contender]*fight
}

// contender is a manager who takes a field.
type contender struct{ path, manager string }

// fight is what became of a field that somebody took.
type fight struct {
	field FieldDrift
	// takes are the times of the last repairs, at most contestedTakes.
	takes     []time.Time
	contested bool
}

func (f *fight) repaired() time.Time { return f.takes[len(f.takes)-1] }

func newMemory(now func() time.Time, resync time.Duration) *memory {
	return &memory{now: now, resync: resync, objects: map[types.UID]*remembered{}}
}

// of returns the memory of an object, and makes one if it must. It is called with the lock held.
func (m *memory) of(uid types.UID) *remembered {
	object := m.objects[uid]
	if object == nil {
		if len(m.objects) >= maxObjects {
			m.forgetOldest()
		}
		object = &remembered{fights: map[contender]*fight{}}
		m.objects[uid] = object
	}
	object.used = m.now()
	return object
}

func (m *memory) forgetOldest() {
	var oldest types.UID
	var used time.Time
	for uid, object := range m.objects {
		if oldest == "" || object.used.Before(used) {
			oldest, used = uid, object.used
		}
	}
	delete(m.objects, oldest)
}

// madeBefore notes that a Secret is made for an owner, and tells whether one of that name was before.
func (m *memory) madeBefore(owner types.UID, name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	object := m.of(owner)
	if object.made[name] {
		return true
	}
	if object.made == nil || len(object.made) >= maxFights {
		object.made = map[string]bool{}
	}
	object.made[name] = true
	return false
}

// changedNothing notes an apply that changed nothing.
func (m *memory) changedNothing(uid types.UID, version, intent string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	object := m.of(uid)
	object.version, object.intent, object.applied = version, intent, m.now()
}

// knowsNoOp tells whether an apply of the intent to that version changed nothing less than a resync ago.
func (m *memory) knowsNoOp(uid types.UID, version string, intent func() string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	object := m.objects[uid]
	return object != nil && object.version != "" && object.version == version &&
		m.now().Sub(object.applied) < m.resync && object.intent == intent()
}

// cede notes the paths that are left to others. It tells nothing about other paths: they are ours again.
func (m *memory) cede(uid types.UID, fields []FieldDrift) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if object := m.objects[uid]; object == nil && len(fields) == 0 {
		return
	}
	object := m.of(uid)
	object.ceded = make(map[string]bool, len(fields))
	for _, field := range fields {
		object.ceded[field.Path] = true
	}
}

// wereCeded tells whether all these fields had been left to others.
func (m *memory) wereCeded(uid types.UID, fields []FieldDrift) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	object := m.objects[uid]
	if object == nil || len(fields) == 0 {
		return false
	}
	for _, field := range fields {
		if !object.ceded[field.Path] {
			return false
		}
	}
	return true
}

// took notes that these fields had been taken from us and are taken back now.
func (m *memory) took(uid types.UID, fields []FieldDrift) {
	m.mu.Lock()
	defer m.mu.Unlock()
	object, now := m.of(uid), m.now()
	for _, field := range fields {
		who := contender{path: field.Path, manager: field.Manager}
		f := object.fights[who]
		if f == nil {
			object.makeRoom()
			f = &fight{}
			object.fights[who] = f
		}
		f.field = field
		if f.takes = append(f.takes, now); len(f.takes) > contestedTakes {
			f.takes = f.takes[1:]
		}
		if len(f.takes) == contestedTakes && now.Sub(f.takes[0]) <= contestedWindow {
			f.contested = true
		}
	}
}

// makeRoom forgets the fight that is longest over when there are too many.
func (r *remembered) makeRoom() {
	if len(r.fights) < maxFights {
		return
	}
	var oldest contender
	var last time.Time
	for who, f := range r.fights {
		if last.IsZero() || f.repaired().Before(last) {
			oldest, last = who, f.repaired()
		}
	}
	delete(r.fights, oldest)
}

// held tells which of the fields that differ are contested and were repaired less than a resync ago.
func (m *memory) held(uid types.UID, fields []FieldDrift) []bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := make([]bool, len(fields))
	object := m.objects[uid]
	if object == nil {
		return held
	}
	for i, field := range fields {
		f := object.fights[contender{path: field.Path, manager: field.Manager}]
		held[i] = f != nil && f.contested && m.now().Sub(f.repaired()) < m.resync
	}
	return held
}

// calm forgets the fights that are over: those about fields that do not differ now and did not since their last repair,
// which is as long ago as the time in which they are counted, or a resync when they are contested.
func (m *memory) calm(uid types.UID, differing []FieldDrift) {
	m.mu.Lock()
	defer m.mu.Unlock()
	object := m.objects[uid]
	if object == nil {
		return
	}
	differs := make(map[contender]bool, len(differing))
	for _, field := range differing {
		differs[contender{path: field.Path, manager: field.Manager}] = true
	}
	for who, f := range object.fights {
		calm := contestedWindow
		if f.contested {
			calm = m.resync
		}
		if !differs[who] && m.now().Sub(f.repaired()) >= calm {
			delete(object.fights, who)
		}
	}
}

// contested returns the fields that are contested, in order.
func (m *memory) contested(uid types.UID) []FieldDrift {
	m.mu.Lock()
	defer m.mu.Unlock()
	object := m.objects[uid]
	if object == nil {
		return nil
	}
	var contested []FieldDrift
	for _, f := range object.fights {
		if f.contested {
			contested = append(contested, f.field)
		}
	}
	slices.SortFunc(contested, func(a, b FieldDrift) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Manager, b.Manager))
	})
	return contested
}
