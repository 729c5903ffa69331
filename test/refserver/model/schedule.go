package model

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

func (d *Data) shift(date string) int {
	return slices.IndexFunc(d.Schedule, func(s Shift) bool { return s.Date == date })
}

// onCall returns the user of today, or 0.
func (d *Data) onCall(now time.Time) int64 {
	if i := d.shift(now.Format(time.DateOnly)); i >= 0 {
		return d.Schedule[i].UserID
	}
	return 0
}

// Shifts returns the schedule by date, both ends included; an empty from means today, an empty to is open.
func (m *Model) Shifts(from, to string) ([]Shift, error) {
	for _, date := range []string{from, to} {
		if date == "" {
			continue
		}
		if err := checkDate(date); err != nil {
			return nil, err
		}
	}
	shifts := []Shift{}
	m.read(func(d *Data, now time.Time) {
		if from == "" {
			from = now.Format(time.DateOnly)
		}
		for _, shift := range d.Schedule {
			if shift.Date >= from && (to == "" || shift.Date <= to) {
				shifts = append(shifts, shift)
			}
		}
	})
	slices.SortFunc(shifts, func(a, b Shift) int { return strings.Compare(a.Date, b.Date) })
	return shifts, nil
}

func checkDate(date string) error {
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return refuse(http.StatusUnprocessableEntity, "dates are written YYYY-MM-DD")
	}
	return nil
}

// Current returns the shift of today.
func (m *Model) Current() (Shift, error) {
	var shift Shift
	err := refuse(http.StatusNotFound, "nobody is on call")
	m.read(func(d *Data, now time.Time) {
		if i := d.shift(now.Format(time.DateOnly)); i >= 0 {
			shift, err = d.Schedule[i], nil
		}
	})
	return shift, err
}

// AssignShifts puts a user on call on dates, all or none.
func (m *Model) AssignShifts(userID int64, dates []string, replace bool) ([]Shift, error) {
	shifts := []Shift{}
	err := m.write(func(d *Data, _ time.Time) error {
		if d.user(userID) == nil {
			return refuse(http.StatusUnprocessableEntity, "user_id %d is no user", userID)
		}
		if len(dates) == 0 {
			return refuse(http.StatusUnprocessableEntity, "dates is required")
		}
		for _, date := range dates {
			if err := checkDate(date); err != nil {
				return err
			}
			if d.shift(date) >= 0 && !replace {
				return refuse(http.StatusConflict, "date already assigned")
			}
		}
		for _, date := range dates {
			d.Schedule = slices.DeleteFunc(d.Schedule, func(s Shift) bool { return s.Date == date })
			shift := Shift{ID: d.nextID(), Date: date, UserID: userID}
			d.Schedule = append(d.Schedule, shift)
			shifts = append(shifts, shift)
		}
		return nil
	})
	return shifts, err
}

// DeleteShift takes a user off call.
func (m *Model) DeleteShift(id int64) error {
	return m.write(func(d *Data, _ time.Time) error {
		i := slices.IndexFunc(d.Schedule, func(s Shift) bool { return s.ID == id })
		if i < 0 {
			return refuse(http.StatusNotFound, "schedule entry not found")
		}
		d.Schedule = slices.Delete(d.Schedule, i, i+1)
		return nil
	})
}

// LiveKeys returns every API key that is accepted now, without material.
func (m *Model) LiveKeys() []Key {
	var keys []Key
	m.read(func(d *Data, _ time.Time) { keys = slices.Clone(d.Keys) })
	return keys
}
