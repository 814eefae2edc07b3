package group

import (
	"time"

	"millrace.dev/group/ledger"
	"millrace.dev/group/protocol"
)

// ID is unique to one incarnation of a worker.
type ID = protocol.ID

// Member is a worker as the others know it: its ID, its Name, which stays the same over incarnations, the Addr where it listens
// ("unix:/path" or "tcp:host:port" over sockets), and its Host, of which workers share memory (see ThisHost).
type Member = protocol.Member

// View is the Members of one Epoch, oldest first; a member's rank is its index. The first epoch is 1.
type View = protocol.View

// Range is the samples at positions Lo up to, not including, Hi of an epoch's order.
type Range = ledger.Range

// Progress is how far a group has come: the last committed step, and the account of samples after it.
type Progress struct {
	Step   uint64
	Ledger ledger.Ledger
}

// Data says which samples there are. The zero value leaves that to the caller, who then gives each
// step its weight with Step.Weigh.
type Data struct {
	Samples uint64 // in an epoch
	Batch   uint64 // in a step: of the whole group, or of each worker with PerWorker
	// PerWorker makes the group's batch grow and shrink with the members that take a share.
	PerWorker bool
	// Base is the batch that the learning rate was chosen for: Step.RateScale is the group's batch
	// over it, the linear rule. 0 leaves RateScale at 1.
	Base uint64
}

// batch is the nominal number of samples of a step that n members share.
func (d Data) batch(n int) uint64 {
	if d.PerWorker {
		return d.Batch * uint64(n)
	}
	return d.Batch
}

// rateScale is the linear rule for the learning rate.
func (d Data) rateScale(n int) float64 {
	if d.Base == 0 {
		return 1
	}
	return float64(d.batch(n)) / float64(d.Base)
}

// Outcome is what became of a step.
type Outcome uint8

// The outcomes of a step.
const (
	// Apply: the mean is agreed on; the parameters are to be updated with it.
	Apply Outcome = iota + 1
	// Skip: there is no mean, as it is not finite or nobody had samples. Nobody updates.
	Skip
	// Void: this worker was cut off from the group in this step, or has left before it. Its part does not count. Where
	// it was cut off, its parameters and optimiser do not count either: the next Begin restores them from the members.
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
	Loss      float64 // mean over its samples
	Norm2     float64 // squared norm of its gradient, 0 if unknown
	Correct   uint64  // samples of its share that were right
	InTop     uint64  // samples whose label was among the best few
	NonFinite bool    // its gradient is not finite
	// Hash is of parameters and optimiser before this step, 0 if unknown. Members whose hashes
	// differ get a DivergedError.
	Hash uint64
	Rate float64 // the learning rate of the update, for the step log
}

// Told is the report of one member.
type Told struct {
	Member  ID
	Name    string
	Samples uint64
	Report
}

// Result is what the whole group agreed on.
type Result struct {
	Step    uint64
	Outcome Outcome
	Mean    []float32 // Σ samples·gradient / Σ samples: Worker.Mean, to be read until the next Begin
	Weight  uint64    // Σ samples
	Reports []Told    // in rank order; those of members that died in the step may be missing
	View    View      // the members over which it was reduced
	// Reason says in words why the view is what it is, Algorithm how the gradients were added up, and Choice why so.
	Reason, Algorithm, Choice string
	// Expected is how many seconds the reduction is expected to take where nobody is waited for; 0 where no model
	// says.
	Expected float64
	Next     Progress // after the step
	// EpochEnded says that the step used up the last samples of the epoch.
	EpochEnded bool
}

// Durations that Config leaves at zero.
const (
	DefaultHeartbeat = 50 * time.Millisecond
	DefaultSuspect   = time.Second
)
