package group

import "time"

// ID is unique to one incarnation of a worker.
type ID uint64

// Member is a worker as the others know it.
type Member struct {
	ID   ID     // of this incarnation
	Name string // stays the same over incarnations
	Addr string // where it listens, such as "tcp:10.0.0.7:7400" or "unix:/run/w0"
	Host string // the boot id of its machine: members of one host share memory
}

// View is the list of members from one epoch to the next, oldest first; a member's rank is its index.
type View struct {
	Epoch   uint64
	Members []Member
}

// Rank returns the index of a member, -1 for none.
func (v View) Rank(id ID) int {
	for i := range v.Members {
		if v.Members[i].ID == id {
			return i
		}
	}
	return -1
}

// Range is the samples at positions Lo up to, not including, Hi of an epoch's order.
type Range struct{ Lo, Hi uint64 }

// Len is the number of samples.
func (r Range) Len() uint64 { return r.Hi - r.Lo }

// Tensor names a part of the gradient vector.
type Tensor struct {
	Name   string
	Lo, Hi int // elements
}

// Data says which samples there are. The zero value leaves that to the caller, who then gives each
// step's weight in its Report.
type Data struct {
	Samples uint64 // in an epoch
	Batch   uint64 // in a step: of the whole group, or of each worker with PerWorker
	// PerWorker makes the group's batch grow and shrink with the members; Step.RateScale then tells
	// the linear rule for the learning rate.
	PerWorker bool
}

// Outcome is what became of a step.
type Outcome uint8

// The outcomes of a step.
const (
	// Apply: the mean is agreed on; the parameters are to be updated with it.
	Apply Outcome = iota + 1
	// Skip: the mean is not finite, and nobody updates with it.
	Skip
	// Void: this worker was cut off from the group in this step. What it knows of the step, its
	// parameters and optimiser does not count; the next Begin restores them from the members.
	Void
)

func (o Outcome) String() string {
	switch o {
	case Apply:
		return "apply"
	case Skip:
		return "skip"
	case Void:
		return "void"
	}
	return "none"
}

// Report is what a worker tells the group about its part of a step.
type Report struct {
	// Samples is the weight of this worker's gradient, where Config.Data is zero; otherwise the
	// shares tell.
	Samples uint64
	Loss    float64 // mean over its samples
	Norm2   float64 // squared norm of its gradient, 0 if unknown
	// Hash is of parameters and optimiser before this step, 0 if unknown. Members whose hashes
	// differ are told so by a DivergedError.
	Hash uint64
	Rate float64 // the learning rate of the update, for the step log
}

// Told is the report of one member.
type Told struct {
	Member ID
	Report
	Finite bool // of its own gradient
}

// Result is what the whole group agreed on.
type Result struct {
	Step    uint64
	Outcome Outcome
	Mean    []float32 // Σ samples·gradient / Σ samples; to be read until the next Begin
	Weight  uint64    // Σ samples
	Reports []Told    // of the members whose reports are known, in rank order
	View    View      // the members that were in the step
	Changed bool      // View is not that of the step before
	// EpochEnded says that the step used up the epoch's last samples.
	EpochEnded bool
}

// Durations that Config leaves at zero.
const (
	DefaultHeartbeat = 50 * time.Millisecond
	DefaultSuspect   = time.Second
)
