package collective

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"millrace.dev/fabric"
	"millrace.dev/group/reduce"
)

// EarlyStep bounds, in bytes, what a member keeps of a step that it has not begun.
const EarlyStep = 4 << 20

// Types and flags of a step's frames. A segment's frame has the chunk's number in Chunk, the segment's in Bucket
// and the weight so far in Aux.
const (
	stepData  = reduce.FirstType     // bulk: a segment
	stepBegun = reduce.FirstType + 1 // control, to the left: this member has begun the step; Aux is its vector's length
)

const (
	flagFinal    uint8 = 1 << iota // the result, not a partial sum
	flagRaw                        // gradients of one contributor, still to be multiplied with its weight
	flagAbsent                     // nobody has contributed yet; no body
	flagInfinite                   // the result is not finite
)

// segment is where one segment of one chunk stands in a step.
type segment struct {
	state  progress
	flags  uint8
	weight uint64 // of the partial sum that has come
}

type progress uint8

const (
	expected progress = iota // the partial sum has not come
	arrived                  // it waits for this member's gradients
	summing                  // it is being added to
	passed                   // it is on its way around; the final sum has not come
	complete
)

// StepConfig is what a Step needs to know.
type StepConfig struct {
	Epoch      uint64
	Rank, Size int
	// Gradients and Result are the vector's two ranges, of equal length and apart from each other.
	Gradients, Result []float32
	Send              Sender
}

// Step reduces the steps of one view on a ring: each chunk is cut in one segment a member; a segment's partial sum
// goes around once, and the final sum once more. In both laps it lies in its place in the result, so that nothing
// is copied: it is received there, added to there and sent from there. What a member sends first is its
// gradients themselves, with the weight beside; the next one multiplies for both.
//
// A member sends and receives 2·S·(n-1)/n bytes a step. It implements reduce.Reducer.
type Step struct {
	cfg         StepConfig
	left, right int

	mu       sync.Mutex
	err      error  // of Cancel, or a failure: the reducer is of no more use
	step     uint64 // the last that has begun, if any has
	begun    bool
	running  bool
	due      bool // it waits until frames of the step before, which lie in the result, are on the wire
	m        uint64
	done     func(reduce.Facts, error)
	facts    reduce.Facts
	known    bool // facts.Weight is
	missing  int  // segments that are not complete
	total    int
	ready    []int32 // elements of each chunk
	started  []bool  // chunks
	segments []segment
	granted  int // the segment whose frame is being received into the result, -1 for none
	summing  int // sums being written to the result

	out       outbox
	rightStep uint64 // the last step that the right member has begun, if any
	rightRuns bool
	early     int // bytes sent of this step before the right member had begun it

	kept      []keptFrame // of the step to come
	keptBytes int
}

// keptFrame is a frame of a step that has not begun here.
type keptFrame struct {
	h    fabric.Header
	body []byte
}

var _ reduce.Reducer = (*Step)(nil)

// NewStep makes a reducer for a view. It sends nothing yet.
func NewStep(cfg StepConfig) (*Step, error) {
	if cfg.Size < 1 || cfg.Rank < 0 || cfg.Rank >= cfg.Size {
		return nil, fmt.Errorf("collective: rank %d of %d members", cfg.Rank, cfg.Size)
	}
	if len(cfg.Gradients) != len(cfg.Result) {
		return nil, fmt.Errorf("collective: %d gradients but %d results", len(cfg.Gradients), len(cfg.Result))
	}
	if len(cfg.Gradients) == 0 {
		return nil, errors.New("collective: a vector of no gradients")
	}
	chunks := (len(cfg.Gradients) + reduce.Chunk - 1) / reduce.Chunk
	s := &Step{
		cfg: cfg, left: (cfg.Rank + cfg.Size - 1) % cfg.Size, right: (cfg.Rank + 1) % cfg.Size,
		ready: make([]int32, chunks), started: make([]bool, chunks), segments: make([]segment, chunks*cfg.Size), granted: -1,
	}
	for i := range s.segments {
		if from, to := s.bounds(i); from < to {
			s.total++
		}
	}
	s.out = outbox{to: s.right, limit: flyingBytes, send: cfg.Send, sent: s.sent, gate: s.mayGo}
	return s, nil
}

// Algorithm is the ring.
func (s *Step) Algorithm() reduce.Algorithm { return reduce.Ring }

// bounds gives the elements of a segment by its index.
func (s *Step) bounds(i int) (from, to int) {
	n := s.cfg.Size
	return reduce.Segment(len(s.cfg.Gradients), i/n*reduce.Chunk, i%n, n)
}

func (s *Step) chunkLen(c int) int {
	return min(reduce.Chunk, len(s.cfg.Gradients)-c*reduce.Chunk)
}

var errRunning = errors.New("collective: the step before is not done")

// Begin starts a step.
func (s *Step) Begin(step uint64, m uint64, done func(reduce.Facts, error)) {
	s.mu.Lock()
	if err := s.err; err != nil || s.running {
		s.mu.Unlock()
		if err == nil {
			err = errRunning
		}
		done(reduce.Facts{}, err)
		return
	}
	s.step, s.m, s.done, s.begun, s.running = step, m, done, true, true
	s.facts, s.known = reduce.Facts{Finite: true}, false
	s.missing, s.early = s.total, 0
	clear(s.ready)
	clear(s.started)
	clear(s.segments)
	if s.due = !s.out.empty(); !s.due {
		s.open()
	}
	s.finish()
}

// open takes the result into use for the step that has begun.
func (s *Step) open() {
	if s.cfg.Size > 1 {
		h := fabric.Header{Type: stepBegun, Epoch: s.cfg.Epoch, Step: s.step, Aux: uint64(len(s.cfg.Gradients))}
		s.cfg.Send(s.left, fabric.Control, h, nil, nil)
	}
	kept := s.kept
	s.kept, s.keptBytes = nil, 0
	for _, f := range kept {
		if err := s.takeKept(f); err != nil {
			s.fail(err)
			return
		}
	}
	for c := range s.ready { // what became ready while the step was due
		if int(s.ready[c]) == s.chunkLen(c) && !s.started[c] && s.err == nil {
			s.start(c)
		}
	}
}

// takeKept puts a frame that came early in its place.
func (s *Step) takeKept(f keptFrame) error {
	if f.h.Step != s.step {
		return s.strange(f.h, fmt.Sprintf("rank %d has begun step %d", s.cfg.Rank, s.step))
	}
	i, err := s.place(f.h)
	if err != nil {
		return err
	}
	from, to := s.bounds(i)
	copy(bytesOf(s.cfg.Result[from:to]), f.body)
	s.take(i, f.h)
	return nil
}

// finish releases the lock; when the step is over, it says so.
func (s *Step) finish() {
	over := s.running && s.granted < 0 && s.summing == 0 && (s.err != nil || s.missing == 0)
	if !over {
		s.mu.Unlock()
		return
	}
	s.running = false
	done, facts, err := s.done, s.facts, s.err
	s.done = nil
	s.mu.Unlock()
	if err != nil {
		facts = reduce.Facts{}
	}
	done(facts, err)
}

// fail makes the reducer useless.
func (s *Step) fail(err error) {
	if s.err == nil {
		s.err = err
		s.out.drop(func(*parcel) bool { return true })
		s.kept, s.keptBytes = nil, 0
	}
}

// Cancel ends the use of the view.
func (s *Step) Cancel(err error) {
	s.mu.Lock()
	s.fail(err)
	s.finish()
}

// Ready takes gradients of the step.
func (s *Step) Ready(lo, hi int) {
	s.mu.Lock()
	if !s.running || s.err != nil || lo >= hi {
		s.finish()
		return
	}
	if lo < 0 || hi > len(s.cfg.Gradients) {
		s.fail(fmt.Errorf("collective: gradients [%d, %d) of %d are ready", lo, hi, len(s.cfg.Gradients)))
		s.finish()
		return
	}
	for c := lo / reduce.Chunk; c*reduce.Chunk < hi; c++ {
		at := c * reduce.Chunk
		s.ready[c] += int32(min(hi, at+s.chunkLen(c)) - max(lo, at))
		switch size := s.chunkLen(c); {
		case int(s.ready[c]) > size:
			s.fail(fmt.Errorf("collective: gradients within [%d, %d) are ready twice", lo, hi))
		case int(s.ready[c]) == size && !s.due:
			s.start(c)
		}
		if s.err != nil {
			break
		}
	}
	s.finish()
}

// start begins the part of this member in a chunk whose gradients are ready.
func (s *Step) start(c int) {
	n := s.cfg.Size
	s.started[c] = true
	own := c*n + s.left // the segment whose way begins here
	if from, to := s.bounds(own); from < to {
		s.segments[own] = segment{state: arrived, flags: flagAbsent}
	}
	for k := range n { // this member's own first: others wait for them
		if i := c*n + (s.left+k)%n; s.segments[i].state == arrived && s.err == nil {
			s.sum(i)
		}
	}
	s.out.pump()
}

// pass queues a segment for the right member.
func (s *Step) pass(h fabric.Header, x []float32, fresh bool) {
	var body []byte
	if h.Flags&flagAbsent == 0 {
		body = bytesOf(x)
	}
	s.out.push(parcel{h: h, body: body, fresh: fresh})
	s.out.pump()
}

// final notes the final sum of a segment, which is in its place, and passes it on to those that lack it.
func (s *Step) final(i int, h fabric.Header) {
	if s.known && s.facts.Weight != h.Aux {
		s.fail(fmt.Errorf("collective: step %d: rank %d says that %d samples contributed to chunk %d, others say %d",
			s.step, i%s.cfg.Size, h.Aux, h.Chunk, s.facts.Weight))
		return
	}
	s.facts.Weight, s.known = h.Aux, true
	if h.Flags&flagInfinite != 0 {
		s.facts.Finite = false
	}
	s.segments[i].state = complete
	s.missing--
	if i%s.cfg.Size != s.right {
		from, to := s.bounds(i)
		s.pass(h, s.cfg.Result[from:to], false)
	}
}

// mayGo holds back what the right member could not put in its place.
func (s *Step) mayGo(p *parcel) bool {
	if s.rightRuns && s.rightStep >= p.h.Step || p.h.Step != s.step { // a step that is complete here has begun everywhere
		return true
	}
	size := len(p.body) + fabric.HeaderSize
	if s.early+size > EarlyStep {
		return false
	}
	s.early += size
	return true
}

// sent is called by the fabric for each frame it is done with.
func (s *Step) sent(error) {
	s.mu.Lock()
	s.out.landed()
	if s.err == nil {
		s.out.pump()
		if s.due && s.out.empty() {
			s.due = false
			s.open()
		}
	}
	s.finish()
}

// bytesOf is the memory of x.
func bytesOf(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}
