package model

import "time"

// Data is everything that the server knows. Lists are in the order of creation.
type Data struct {
	LastID       int64
	Users        []User
	Accounts     []Account
	Keys         []Key
	Teams        []Team
	Policies     map[int64]Policy // by team
	Switches     []Switch
	Integrations []Integration
	Alerts       []Alert
	Incidents    []Incident
	Events       []Event
	Schedule     []Shift
	Heard        *time.Time // last alert for the server-wide switch
	HeardMissed  bool
}

func emptyData() Data { return Data{Policies: map[int64]Policy{}} }

// nextID hands out one increasing sequence for all kinds: an id of one kind never fits another by accident, and
// none is used again.
func (d *Data) nextID() int64 {
	d.LastID++
	return d.LastID
}

// User is a person.
type User struct {
	ID        int64
	Username  string
	Email     string
	Topic     string
	Admin     bool
	CreatedAt time.Time
	Password  []byte // hash; empty without a password
}

// Account is the identity of a machine. Its ID is drawn from the same sequence as users'.
type Account struct {
	ID        int64
	Name      string
	TeamID    int64 // 0 reaches the whole server
	CreatedAt time.Time
}

// Key is an API key of a user or an account; only its hash is kept.
type Key struct {
	ID         int64
	OwnerID    int64
	Name       string
	Hash       []byte
	CreatedAt  time.Time
	LastUsedAt *time.Time
}

// Team is a team with its single sign-on groups.
type Team struct {
	ID          int64
	Name        string
	MemberGroup string
	OwnerGroup  string
	CreatedAt   time.Time
}

// Policy is a team's escalation policy; without levels there is none.
type Policy struct {
	RepeatCount   int
	FallbackTopic string
	Levels        []Level
}

// Level is one step of a policy.
type Level struct {
	Timeout time.Duration
	// TimeoutText is the duration as it was written.
	TimeoutText string
	Targets     []Target
}

// Target is whoever is on call (UserID 0), or one user.
type Target struct{ UserID int64 }

// Switch is a dead man's switch.
type Switch struct {
	ID          int64
	TeamID      int64
	Name        string
	Matcher     string
	Timeout     time.Duration
	TimeoutText string
	Severity    string
	CreatedAt   time.Time
	LastSeen    time.Time
	Missed      bool
}

// Integration is a source of alerts; only its key's hash is kept.
type Integration struct {
	ID        int64
	TeamID    int64
	Kind      string
	Name      string
	KeyHash   []byte
	CreatedAt time.Time
}

// Alert is one firing of an alert.
type Alert struct {
	ID               int64
	TeamID           int64
	Fingerprint      string
	Name             string
	Firing           bool
	Labels           map[string]string
	Annotations      map[string]string
	StartsAt         time.Time
	EndsAt           time.Time
	GeneratorURL     string
	ReceivedAt       time.Time
	SeenAt           time.Time
	ArchivedAt       *time.Time
	IncidentID       int64
	ResolutionSource string
}

// Incident groups the alerts of one groupKey.
type Incident struct {
	ID             int64
	TeamID         int64
	Title          string
	Severity       string
	GroupKey       string
	CreatedAt      time.Time
	AcknowledgedAt *time.Time
	AcknowledgedBy int64
	AssignedTo     int64
	SnoozedUntil   *time.Time
	ResolvedAt     *time.Time
	ByHand         bool // resolved by a person, for good
	ArchivedAt     *time.Time
	Step           int        // steps of the policy taken
	NextPage       *time.Time // when the next step is due
}

// Event is an entry of an incident's timeline.
type Event struct {
	ID         int64
	IncidentID int64
	Type       string
	UserID     int64
	Content    string
	CreatedAt  time.Time
}

// Shift is one user on call on one date (YYYY-MM-DD, UTC).
type Shift struct {
	ID     int64
	Date   string
	UserID int64
}
