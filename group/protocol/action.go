package protocol

import "time"

// Action is something for the driver to do: [Send], [Cancel], [Ask], [Commit], [Install], [Fenced],
// [Stalled], [Failed] or [SetTimer].
type Action interface{ action() }

// Send sends a message. The member may be outside of the view; of one that is unknown there is only
// the ID, and the connection it came from is the way back. Messages are shared and never written.
type Send struct {
	To      Member
	Message Message
}

// Cancel stops all data of an epoch: none is sent or taken in any more, and nothing more is prepared.
// A result that was prepared is kept until [Install]. It comes once before each Install but a
// joiner's first.
type Cancel struct{ Epoch uint64 }

// Ask proposes a change to the authority: it takes the first for each epoch and answers with that.
// View is the view that follows, for those who look there.
type Ask struct {
	Epoch  uint64 // the epoch that ends
	Change *Change
	View   View
}

// Outcome is what becomes of a committed step.
type Outcome uint8

// The outcomes of a step.
const (
	Apply Outcome = iota + 1 // all update with the mean
	Skip                     // the mean is not finite, or of no samples, and nobody does
)

func (o Outcome) String() string {
	switch o {
	case Apply:
		return "apply"
	case Skip:
		return "skip"
	}
	return "none"
}

// Commit says that a step counts, everywhere and for ever.
type Commit struct{ *Result }

// Outcome is what all members do with the step.
func (c Commit) Outcome() Outcome {
	if c.Facts.Finite && c.Facts.Weight > 0 {
		return Apply
	}
	return Skip
}

// Install puts a view into force. All its members have committed Change.Committed; the step after
// that is reduced over this view, from the gradient that a member has or is computing.
type Install struct {
	View   View
	Change *Change
	First  bool // this member has just joined
}

// Fenced ends the machine: the group goes on without this member, or has ended.
type Fenced struct {
	Epoch uint64 // that is now in force, as far as known
	Left  bool   // by its own wish
}

// Stalled says why the view cannot change for now. An empty reason takes it back.
type Stalled struct{ Reason string }

// Failed ends the machine: what it was told cannot be.
type Failed struct{ Err error }

// SetTimer asks for a [Tick] at a time, in place of any before; the zero time for none.
type SetTimer struct{ At time.Time }

func (Send) action()     {}
func (Cancel) action()   {}
func (Ask) action()      {}
func (Commit) action()   {}
func (Install) action()  {}
func (Fenced) action()   {}
func (Stalled) action()  {}
func (Failed) action()   {}
func (SetTimer) action() {}
