package protocol

// Message is what members say to each other: [Token], [Verdict], [Reconcile], [Accept], [Installed],
// [Beat] or [Fence]. They stay as they are once sent.
type Message interface{ kind() kind }

// Token goes up the tree: the sender's subtree is prepared.
type Token struct {
	Epoch, Step uint64
	Facts       Facts
	Records     []Entry // of the subtree
}

// Verdict comes down the tree: the step is committed.
type Verdict struct{ Result *Result }

// Ballot orders attempts to change one view. A higher attempt wins, then the higher rank: of the
// rounds that several members begin at once, each then ends at the next one's beginning, and all
// but one take as many messages together as one whole round.
type Ballot struct{ Attempt, Rank uint32 }

// less says that b must give way to c.
func (b Ballot) less(c Ballot) bool {
	if b.Attempt != c.Attempt {
		return b.Attempt < c.Attempt
	}
	return b.Rank < c.Rank
}

// Vote is where a member stands. It does not move from there in this epoch.
type Vote struct {
	ID        ID
	Committed uint64 // its last committed step
	Ready     bool   // its state is complete
	Prepared  bool   // the step after it is prepared in this epoch, with Facts and Record
	Facts     Facts
	Record    Record
}

// Reconcile goes round the ring and collects votes.
type Reconcile struct {
	Epoch  uint64
	Ballot Ballot
	Out    []ID // who is passed by
	Votes  []Vote
	// Last is the result of the highest step that a voter has committed in this epoch.
	Last *Result
	// Accepted and Proposal are the highest ballot in which a voter has accepted a change, and that
	// change (Majority).
	Accepted Ballot
	Proposal *Change
	// Base is the change that began this epoch, for a member that has missed it, and View the whole
	// view for one that has just joined.
	Base *Change
	View *View
}

// Accept goes round the ring with a change. Chosen, it is to be installed; else (Majority) it is to be
// accepted, and whoever sees that more than half have done so is the Origin of the chosen one.
type Accept struct {
	Epoch  uint64
	Ballot Ballot
	Change *Change
	Out    []ID // who is passed by
	Acks   []ID // who has accepted
	Chosen bool
	Origin ID // where the round of the chosen change ends
}

// Installed tells a member that is behind which change was chosen, and a joiner the whole view.
type Installed struct {
	Change *Change
	View   *View
}

// Beat tells in which epoch its sender is. Silence makes a member suspect; it is also how one that
// is behind is found. A joiner that has no view yet is in epoch 0.
type Beat struct{ Epoch uint64 }

// Fence tells one that is no longer a member so.
type Fence struct{ Epoch uint64 }

type kind uint8

// The kinds of messages on the wire.
const (
	kindToken kind = iota + 1
	kindVerdict
	kindReconcile
	kindAccept
	kindInstalled
	kindBeat
	kindFence
)

func (*Token) kind() kind     { return kindToken }
func (*Verdict) kind() kind   { return kindVerdict }
func (*Reconcile) kind() kind { return kindReconcile }
func (*Accept) kind() kind    { return kindAccept }
func (*Installed) kind() kind { return kindInstalled }
func (*Beat) kind() kind      { return kindBeat }
func (*Fence) kind() kind     { return kindFence }

// Limits of what comes over the wire.
const (
	// MaxMembers is the size of the largest view.
	MaxMembers = 1024
	// MaxMessage is the size of the largest message in bytes.
	MaxMessage = 256 << 10

	maxString = 255
	maxJoin   = 16 // wishes of one record; others come with later ones
)
