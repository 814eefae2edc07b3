package fabric

import "time"

// Clock tells the time and calls back later. System is the machine's clock;
// a simulation has its own.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once, d from now.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a call that is to come.
type Timer interface {
	// Stop prevents the call, and reports whether it did.
	Stop() bool
}

// System is the clock of the machine. It calls back from a goroutine of its own.
var System Clock = systemClock{}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
