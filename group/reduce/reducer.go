package reduce

import "millrace.dev/fabric"

// Chunk is the number of elements of a chunk, 1 MiB of float32: a multiple of every page size in use. The last
// chunk of a vector may be shorter.
const Chunk = 1 << 18

// Types of frames that belong to the reduction of steps. A driver hands those to its Reducer and none other.
const (
	FirstType uint8 = 0x20
	LastType  uint8 = 0x2f
)

// Facts is what every member that has the result of a step knows of it.
type Facts struct {
	Weight uint64 // M, the samples of all contributors
	Finite bool   // no element of the result is infinite or not a number
}

// Reducer reduces the steps of one view, one at a time. All methods may be called from any goroutine; those named
// like the methods of fabric.Handler are called by the driver's handler, with the rank at the other end.
type Reducer interface {
	// Algorithm names the order of the sums, for the log of steps.
	Algorithm() Algorithm

	// Begin starts step with this member's weight m. The gradients are not used before Ready says so; the result
	// belongs to the reducer from now until done. Done is called exactly once, from any goroutine and perhaps before
	// Begin returns, and must not block: with the facts when the result is complete here (the gradients must
	// stay until the step is committed, as others may still read them), or with an error after Cancel, after a
	// failure, or when others use the vector differently. When it reports an error nothing writes to the
	// result any more.
	Begin(step uint64, m uint64, done func(Facts, error))

	// Ready says that the gradients [lo, hi) of the step that has begun will not change until it is committed.
	// Ranges come in any order and do not overlap.
	Ready(lo, hi int)

	// Body and Frame take what comes from a member; see fabric.Handler. Frames of other epochs and of past steps are
	// read and dropped, those of the next step are kept within a bound that the sender respects.
	Body(from int, h fabric.Header) ([]byte, error)
	Frame(from int, h fabric.Header, body []byte) error

	// Closed says that nothing will come from a member any more, and that no Body of it is being filled.
	Closed(from int)

	// Cancel ends the use of the view: the step that has begun is done with err as soon as no frame is being received
	// into the result, later frames are dropped, and Begin fails. It returns at once and may be repeated. It does
	// not touch the connections: a driver closes those of members that are gone.
	Cancel(err error)

	// Waiting says what the step that has begun waits for, in words for a status page, and the rank that has
	// not delivered; -1 when it is this member itself or nothing.
	Waiting() (rank int, what string)
}
