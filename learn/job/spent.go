package job

import (
	"errors"
	"io/fs"
	"time"

	"millrace.dev/control"
)

// Spent is how long the processes before this one have worked on a run: the sum over them of the
// times from the first to the last record of each in the journal. A resume begins with a rewind.
func Spent(journal string) (time.Duration, error) {
	var sum time.Duration
	var first, last time.Time
	_, err := control.ReadJournal(journal, func(r control.Record) error {
		at, known := recorded(&r)
		if !known {
			return nil
		}
		if r.Rewind != nil || first.IsZero() {
			sum += max(last.Sub(first), 0)
			first = at
		}
		last = at
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return sum + max(last.Sub(first), 0), err
}

// recorded is when a record was made.
func recorded(r *control.Record) (time.Time, bool) {
	switch {
	case r.Signal.Name != "":
		return r.Signal.Time, true
	case r.Mark != nil:
		return r.Mark.Time, true
	case r.Setting != nil:
		return r.Setting.Time, true
	case r.Decision != nil:
		return r.Decision.Time, true
	case r.Rewind != nil:
		return r.Rewind.Time, true
	case r.Outcome != nil:
		return r.Outcome.Time, true
	}
	return time.Time{}, false
}
