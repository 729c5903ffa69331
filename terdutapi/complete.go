package terdutapi

// What an answer must hold before it counts as one. JSON that lacks these comes from something that is not
// terdut-server, and an id of 0 in a status would be worse than an error.

func (v Version) complete() bool         { return v.Version != "" && v.Capabilities != nil }
func (v User) complete() bool            { return v.ID > 0 && v.Username != "" }
func (v Me) complete() bool              { return v.User.complete() }
func (v BootstrapResult) complete() bool { return v.User.complete() && v.Key != "" }
func (v APIKey) complete() bool          { return v.ID > 0 }
func (v CreatedAPIKey) complete() bool   { return v.ID > 0 && v.Key != "" }
func (v ServiceAccount) complete() bool  { return v.ID > 0 && v.Name != "" }

func (v ServiceAccountKey) complete() bool        { return v.ID > 0 }
func (v CreatedServiceAccountKey) complete() bool { return v.ID > 0 && v.Key != "" }
func (v CreatedServiceAccount) complete() bool    { return v.ID > 0 && v.Name != "" && v.Key.complete() }

func (v Team) complete() bool          { return v.ID > 0 && v.Name != "" }
func (v DeadmanSwitch) complete() bool { return v.ID > 0 && v.Name != "" }
func (v Integration) complete() bool   { return v.ID > 0 && v.Name != "" }
func (v CreatedIntegration) complete() bool {
	return v.ID > 0 && v.Name != "" && v.Key != "" && v.URL != ""
}
func (v Alert) complete() bool         { return v.ID > 0 }
func (v Incident) complete() bool      { return v.ID > 0 }
func (v TimelineEvent) complete() bool { return v.ID > 0 }
func (v ScheduleEntry) complete() bool { return v.ID > 0 && v.UserID > 0 && v.Date != "" }

// complete wants lists, not null: a policy that was misread as empty would be overwritten.
func (v EscalationPolicy) complete() bool {
	for _, level := range v.Levels {
		if level.Targets == nil || level.Timeout == "" {
			return false
		}
	}
	return v.Levels != nil
}
