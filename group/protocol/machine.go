package protocol

import (
	"fmt"
	"time"
)

// Authority is who decides between changes of one view. It is fixed when the group starts.
type Authority uint8

// The authorities.
const (
	// Service: a register outside that changes by compare-and-swap. Any number of survivors may go on.
	Service Authority = iota + 1
	// Majority: more than half of the members of the view that ends.
	Majority
)

// Config says who a machine is.
type Config struct {
	Self      Member
	Authority Authority
	Committed uint64 // founders: the last step committed before, of a checkpoint; 0 for none
	// Stagger is how long a member waits for each other one that is nearer to a failure to begin with
	// the change, and Lap and Hop how long a round of the ring may take before another is tried: Lap
	// and a Hop for each member, and twice as long each further time. Zero stands for 20 ms, 100 ms
	// and 5 ms.
	Stagger, Lap, Hop time.Duration
}

// Machine is the protocol's state at one member.
type Machine struct {
	cfg  Config
	view View
}

// New returns the machine of a founder.
func New(cfg Config, view View) (*Machine, error) {
	if err := view.check(); err != nil {
		return nil, err
	}
	if !view.Has(cfg.Self.ID) {
		return nil, fmt.Errorf("%q is not among the founders", cfg.Self.Name)
	}
	return &Machine{cfg: cfg, view: view}, nil
}

// NewJoiner returns the machine of a worker that is to be let in by a member's Wish. Its first
// action is Install.
func NewJoiner(cfg Config) (*Machine, error) { return &Machine{cfg: cfg}, nil }

// Handle takes an event and returns what to do, in order. The slice is valid until the next call.
func (m *Machine) Handle(now time.Time, e Event) []Action { return nil }

// View returns the view in force, the zero View before a joiner's first.
func (m *Machine) View() View { return m.view }

// Committed returns the last committed step.
func (m *Machine) Committed() uint64 { return m.cfg.Committed }

// Waiting says in words what the machine waits for, and why; empty if for the step of this member
// alone.
func (m *Machine) Waiting() string { return "" }
