package protocol

import (
	"fmt"
	"slices"
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
}

// Times. None of them decides whether a member is dead.
const (
	// stagger is how long a member waits, for each other one that is nearer to a failure, before it
	// begins with the change itself; staggers of them at most.
	stagger  = 20 * time.Millisecond
	staggers = 8
	// A round of the ring may take lap and a hop for each member before another is tried, and twice as
	// long each further time, doublings times at most.
	lap       = 100 * time.Millisecond
	hop       = 5 * time.Millisecond
	doublings = 4
	// forlorn is how long members without the state wait for one that has it.
	forlorn = 10 * time.Second
)

// Machine is the protocol's state at one member.
type Machine struct {
	cfg  Config
	view View // none yet: epoch 0
	rank int

	committed uint64
	last      *Result // of step committed, nil if it was before this machine
	wishes    *Result // the same, while its wishes may not be fulfilled yet
	base      *Change // that began this view, until a step shows that all have installed it

	ready bool     // the state of this member is complete
	leave bool     // this member wishes to leave
	join  []Member // whom it wishes to be let in
	tally tally    // the commit of step committed+1
	ring  ring     // the change of this view

	actions  []Action
	deadline time.Time // when to do something if nothing else happens, zero for never
	timer    time.Time // what the driver was told of it
	stalled  string
	ended    bool
}

// New returns the machine of a founder.
func New(cfg Config, view View) (*Machine, error) {
	if err := view.check(); err != nil {
		return nil, err
	}
	m, err := NewJoiner(cfg)
	if err != nil {
		return nil, err
	}
	if m.rank = view.Rank(cfg.Self.ID); m.rank < 0 {
		return nil, fmt.Errorf("%q is not among the founders", cfg.Self.Name)
	}
	m.view = view
	m.committed, m.ready = cfg.Committed, true
	return m, nil
}

// NewJoiner returns the machine of a worker that is to be let in by a member's [Wish]. Its first
// action is [Install]. One that waits long for that was dropped; it begins anew with another ID.
func NewJoiner(cfg Config) (*Machine, error) {
	if cfg.Self.ID == 0 {
		return nil, fmt.Errorf("%q has no id", cfg.Self.Name)
	}
	if cfg.Authority != Service && cfg.Authority != Majority {
		return nil, fmt.Errorf("there is no authority %d", cfg.Authority)
	}
	return &Machine{cfg: cfg, ring: ring{suspects: map[ID]bool{}}}, nil
}

// View returns the view in force, the zero View before a joiner's first.
func (m *Machine) View() View { return m.view }

// Committed returns the last committed step.
func (m *Machine) Committed() uint64 { return m.committed }

// Handle takes an event and returns what to do, in order. The slice is valid until the next call.
func (m *Machine) Handle(now time.Time, e Event) []Action {
	m.actions = m.actions[:0]
	if m.ended {
		return nil
	}
	switch e := e.(type) {
	case Prepared:
		m.prepared(now, e)
	case Received:
		m.received(now, e.From, e.Message)
	case Suspect:
		m.suspect(now, e.ID)
	case Answer:
		m.answer(now, e)
	case Wish:
		m.wish(e)
	case Restored:
		m.ready = true
	case Tick:
		m.tick(now)
	}
	if m.ended {
		m.deadline = time.Time{}
	}
	if !m.deadline.Equal(m.timer) {
		m.timer = m.deadline
		m.act(SetTimer{At: m.deadline})
	}
	return m.actions
}

func (m *Machine) act(a Action) { m.actions = append(m.actions, a) }

func (m *Machine) send(to Member, msg Message) { m.act(Send{To: to, Message: msg}) }

// arm sets the deadline.
func (m *Machine) arm(now time.Time, d time.Duration) { m.deadline = now.Add(d) }

// hasten brings the deadline forward.
func (m *Machine) hasten(now time.Time, d time.Duration) {
	if at := now.Add(d); m.deadline.IsZero() || at.Before(m.deadline) {
		m.deadline = at
	}
}

func (m *Machine) tick(now time.Time) {
	if m.deadline.IsZero() || now.Before(m.deadline) {
		m.timer = time.Time{} // the driver's timer is spent
		return
	}
	m.deadline, m.timer = time.Time{}, time.Time{}
	switch {
	case m.ring.stage == asking:
		m.ask(now)
	case m.ring.frozen, len(m.ring.suspects) > 0:
		m.begin(now)
	}
}

func (m *Machine) received(now time.Time, from ID, msg Message) {
	if m.ring.frozen && m.ring.suspects[from] { // it is there after all
		delete(m.ring.suspects, from)
		if m.stalled != "" && m.ring.stage != asking {
			m.hasten(now, stagger)
		}
	}
	switch msg := msg.(type) {
	case *Token:
		m.token(now, from, msg)
	case *Verdict:
		m.verdict(now, from, msg)
	case *Reconcile:
		m.reconcile(now, from, msg)
	case *Accept:
		m.accept(now, from, msg)
	case *Installed:
		m.installed(now, msg)
	case *Beat:
		m.compare(from, msg.Epoch)
	case *Fence:
		if m.view.Epoch > 0 && msg.Epoch > m.view.Epoch {
			m.end(Fenced{Epoch: msg.Epoch, Left: m.leave})
		}
	}
}

// compare looks at the epoch in which another is, and says whether it is that of this member. One
// that is behind is told what it has missed; one that is ahead is asked for that.
func (m *Machine) compare(from ID, epoch uint64) bool {
	if epoch > m.view.Epoch {
		m.send(m.member(from), &Beat{Epoch: m.view.Epoch})
	}
	if epoch >= m.view.Epoch {
		return epoch == m.view.Epoch
	}
	switch {
	case m.view.Has(from):
		if m.base != nil { // else it has installed the view, and what it said is old
			m.send(m.member(from), &Installed{Change: m.base, View: m.viewFor(from)})
		}
	case epoch > 0:
		m.send(m.member(from), &Fence{Epoch: m.view.Epoch})
	}
	return false
}

// member returns what is known of a peer.
func (m *Machine) member(id ID) Member {
	if r := m.view.Rank(id); r >= 0 {
		return m.view.Members[r]
	}
	return Member{ID: id}
}

// viewFor returns the whole view for a member that may know none yet.
func (m *Machine) viewFor(id ID) *View {
	if m.base == nil || !slices.ContainsFunc(m.base.Add, func(j Member) bool { return j.ID == id }) {
		return nil
	}
	view := m.view
	return &view
}

func (m *Machine) wish(w Wish) {
	m.leave = m.leave || w.Leave
	for _, j := range w.Join {
		wished := slices.ContainsFunc(m.join, func(o Member) bool { return o.ID == j.ID })
		if j.ID != 0 && !j.long() && !wished && !m.view.Has(j.ID) && len(m.join) < MaxMembers {
			m.join = append(m.join, j)
		}
	}
}

func (m *Machine) stall(reason string) {
	if m.stalled != reason {
		m.stalled = reason
		m.act(Stalled{Reason: reason})
	}
}

// end is the last that the machine does.
func (m *Machine) end(a Action) {
	m.ended = true
	m.act(a)
}
