package protocol

// Event is something that happened to a member: [Prepared], [Received], [Suspect], [Answer], [Wish],
// [Restored] or [Tick].
type Event interface{ event() }

// Prepared says that a step is completely reduced on this member.
type Prepared struct {
	Epoch, Step uint64
	Facts       Facts
	Record      Record // Leave and Join are the machine's
}

// Received is a message of a peer, which the connection has identified.
type Received struct {
	From    ID
	Message Message
}

// Suspect says that a peer is dead, silent or out of reach, and that what it sent or was sent may be lost.
// The view changes in any case.
type Suspect struct{ ID ID }

// Answer is the authority's answer to [Ask], or what it was seen to have decided otherwise.
type Answer struct {
	Epoch  uint64  // the one that Ask named
	Change *Change // the latest that it knows, which is not always what was asked for
	Err    error   // it cannot be reached, or does not know whether it has decided; Ask comes again
}

// Wish asks for a change of members with the next step that is committed. It stays until it is
// fulfilled. A wish for a joiner is dropped when the joiner is suspected.
type Wish struct {
	Leave bool // this member wants out
	Join  []Member
}

// Restored says that a joiner's state is complete; that of a founder is from the beginning.
type Restored struct{}

// Tick says that the time of [SetTimer] has come. One that comes early does no harm.
type Tick struct{}

func (Prepared) event() {}
func (Received) event() {}
func (Suspect) event()  {}
func (Answer) event()   {}
func (Wish) event()     {}
func (Restored) event() {}
func (Tick) event()     {}
