package shm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"millrace.dev/fabric"
	"millrace.dev/group/reduce"
	"millrace.dev/internal/unixsock"
)

// View is the members who share memory, all on this machine.
type View struct {
	Epoch uint64
	Rank  int
	IDs   []uint64 // incarnations by rank
}

func (v *View) check(d *Door) error {
	if v.Rank < 0 || v.Rank >= len(v.IDs) || v.IDs[v.Rank] != d.id {
		return fmt.Errorf("shm: rank %d of %d members is not the worker of this door", v.Rank, len(v.IDs))
	}
	return nil
}

// Config says who reduces what.
type Config struct {
	View
	Vector *Vector
	Mean   *Mean
	Plan   uint64 // hash of the names of the vector's parts
}

// Team reduces the steps of one view. It is a reduce.Reducer, made by Door.Attach and to be closed.
type Team struct {
	config  Config
	layout  layout
	boards  []board
	g       [][]float32 // by rank
	share   *share      // own
	shown   [][]byte    // boards of peers' shares
	vectors []*mapping  // of peers
	fds     []int       // shares by rank
	stock   *stock

	poke     chan struct{} // the last block may be ready now
	canceled chan struct{}
	stopped  chan struct{}
	running  sync.WaitGroup

	mu     sync.Mutex
	err    error // why it was canceled
	closed bool
	tag    uint64 // of the step that has begun, or the one before the first
	step   uint64
	done   func(facts reduce.Facts, err error) // nil when no step is under way
	left   []int                               // elements of each block that are not ready
	rest   int                                 // blocks that are not complete

	summing sync.Mutex  // held by who sums, taken before mu; it guards what follows
	open    []int       // blocks whose segments are not in the share
	known   bool        // facts.Weight and weights are those of the step
	parts   [][]float32 // stripes of g by rank
	weights []float32   // by rank
	facts   reduce.Facts

	results bool // a step was completed; of the goroutine of run
}

var _ reduce.Reducer = (*Team)(nil)

// Attach shows this worker's memory to the members of a view and maps theirs. It returns on all members with a
// team, or on all with an error, unless a member dies or stops answering: then the caller ends ctx when
// it changes the view. A *NotSupportedError says that this view cannot share memory, a *MismatchError that a
// member has another vector.
func (d *Door) Attach(ctx context.Context, config Config) (*Team, error) {
	n, elements := len(config.IDs), len(config.Vector.g)
	if err := config.check(d); err != nil {
		return nil, err
	}
	if len(config.Mean.r) != elements {
		return nil, fmt.Errorf("shm: the result has %d elements, the gradients %d", len(config.Mean.r), elements)
	}
	t := &Team{
		config: config,
		layout: newLayout(elements, os.Getpagesize(), n), stock: &d.stock,
		boards: make([]board, n), g: make([][]float32, n), fds: make([]int, n),
		poke: make(chan struct{}, 1), canceled: make(chan struct{}), stopped: make(chan struct{}),
	}
	for rank := range t.fds {
		t.fds[rank] = -1
	}
	t.tag = firstTag(config.Epoch) - 1
	t.left = make([]int, t.layout.blocks())
	t.open = make([]int, 0, t.layout.blocks())
	t.parts, t.weights = make([][]float32, n), make([]float32, n)
	select {
	case d.attaching <- struct{}{}: // one that was cut off gives its share back first
		defer func() { <-d.attaching }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := t.attach(ctx, d); err != nil {
		t.leave()
		return nil, err
	}
	d.stock.keep(config.IDs)
	t.running.Go(t.run)
	t.running.Go(t.rouse)
	return t, nil
}

func (t *Team) attach(ctx context.Context, d *Door) error {
	me := t.config.Rank
	own, refusal := t.prepare(d)
	mine := offer{
		use: useTeam, epoch: t.config.Epoch, from: d.id, rank: uint32(me), n: uint32(t.layout.n),
		page: uint32(t.layout.page), elements: uint64(t.layout.elements), plan: t.config.Plan,
	}
	m, err := d.meet(ctx, mine, t.config.IDs, own, refusal)
	defer m.close()
	if refusal == nil {
		unixsock.CloseFiles(own[:1])
	}
	if err != nil {
		return err
	}
	for rank := range m.fds {
		if rank != me {
			if err := t.mapPeers(rank, m.fds[rank]); err != nil {
				return unsupported(fmt.Sprintf("mapping the memory of rank %d", rank), err)
			}
			t.fds[rank], m.fds[rank] = m.fds[rank][1], m.fds[rank][:1]
		}
	}
	return m.agree(ctx)
}

// prepare makes the files that this member shows: its vector, opened again, and its share.
func (t *Team) prepare(d *Door) (fds []int, err error) {
	me := t.config.Rank
	if t.share, err = d.stock.take(t.layout.shareBytes()); err != nil {
		return nil, err
	}
	t.fds[me] = t.share.fd
	t.boards[me], t.g[me] = boardOf(t.share.mem, t.layout.boardBytes()), t.config.Vector.g
	vector, err := readOnly(t.config.Vector.fd)
	if err != nil {
		return nil, unsupported("opening one's own memory again", err)
	}
	return []int{vector, t.share.fd}, nil
}

func (t *Team) mapPeers(rank int, fds []int) error {
	v, err := t.stock.vector(t.config.IDs[rank], fds[0], t.layout.vectorBytes())
	if err != nil {
		return err
	}
	t.vectors = append(t.vectors, v)
	t.g[rank] = floats(v.mem)[:t.layout.elements]
	if _, err := checkPeer(fds[1], t.layout.shareBytes()); err != nil {
		return err
	}
	shown, err := mapPeer(fds[1], t.layout.boardBytes()) // the rest is shown by the Mean
	if err != nil {
		return err
	}
	t.shown = append(t.shown, shown)
	t.boards[rank] = boardOf(shown, t.layout.boardBytes())
	return nil
}

// leave hands all that belongs to the view to the stock. What the Mean shows stays until it shows something else.
func (t *Team) leave() {
	left := remains{shown: t.shown, vectors: t.vectors, share: t.share}
	for rank, fd := range t.fds {
		if fd >= 0 && rank != t.config.Rank {
			left.fds = append(left.fds, fd)
		}
	}
	t.stock.leave(left, !t.results)
	t.fds, t.shown, t.vectors, t.share = nil, nil, nil, nil
}

// Close cancels what is under way, waits until nothing writes any more and gives the view's memory back, some of it only
// after a few steps of the next view. The result of the last step stays readable.
func (t *Team) Close() error {
	t.Cancel(ErrClosed)
	t.running.Wait()
	t.summing.Lock()
	defer t.summing.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.closed = true
		t.leave()
	}
	return nil
}

// Algorithm is reduce.Shared.
func (t *Team) Algorithm() reduce.Algorithm { return reduce.Shared }

// Begin starts a step; see reduce.Reducer. All members begin the same steps of a view in the same order.
func (t *Team) Begin(step, m uint64, done func(reduce.Facts, error)) {
	if err := t.begin(step, m, done); err != nil {
		done(reduce.Facts{}, err)
	}
}

func (t *Team) begin(step, m uint64, done func(reduce.Facts, error)) error {
	t.summing.Lock()
	defer t.summing.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return t.err
	}
	if t.done != nil {
		return fmt.Errorf("shm: step %d begins before step %d is done", step, t.step)
	}
	t.tag++
	t.step, t.done = step, done
	t.open = t.open[:0]
	for block := range t.left {
		lo, hi := t.layout.bounds(block)
		t.left[block] = hi - lo
		t.open = append(t.open, block)
	}
	t.rest = len(t.left)
	t.known, t.facts = false, reduce.Facts{Finite: true}
	t.boards[t.config.Rank].begin(t.tag, step, m)
	return nil
}

// Ready marks the blocks that the elements complete; see reduce.Reducer. Then it sums its segments of those blocks that are
// ready everywhere: a goroutine beside a computation that keeps all CPUs busy would take the same time from it and more for
// the switching. What is left when the last block is complete, the team's own goroutine sums.
func (t *Team) Ready(lo, hi int) {
	switch tag, rest := t.mark(lo, hi); {
	case tag == 0:
	case rest == 0:
		t.wakeUp()
	default:
		t.sumReady(tag) //nolint:errcheck // the step ends with the error
	}
}

// mark marks the blocks that the elements complete in the step with a tag, of which rest are not complete then; tag 0
// says that there are none.
func (t *Team) mark(lo, hi int) (tag uint64, rest int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil || t.done == nil || lo == hi {
		return 0, 0
	}
	if lo < 0 || hi > t.layout.elements || lo > hi {
		t.fail(fmt.Errorf("shm: elements %d to %d are ready of a vector of %d", lo, hi, t.layout.elements))
		return 0, 0
	}
	before := t.rest
	for block := lo / t.layout.block; block*t.layout.block < hi; block++ {
		from, to := t.layout.bounds(block)
		t.left[block] -= min(hi, to) - max(lo, from)
		switch left := t.left[block]; {
		case left < 0:
			t.fail(fmt.Errorf("shm: elements between %d and %d are ready twice in step %d", max(lo, from), min(hi, to), t.step))
			return 0, 0
		case left == 0:
			t.boards[t.config.Rank].markReady(block, t.tag)
			t.rest--
		}
	}
	if t.rest == before {
		return 0, 0
	}
	t.marked()
	return t.tag, t.rest
}

func (t *Team) readyEverywhere(block int, tag uint64) bool {
	for _, b := range t.boards {
		if !b.ready(block, tag) {
			return false
		}
	}
	return true
}

func (t *Team) doneEverywhere(tag uint64) (done, finite bool) {
	finite = true
	for _, b := range t.boards {
		d, f := b.done(tag)
		if !d {
			return false, false
		}
		finite = finite && f
	}
	return true, finite
}

// wakeUp makes this member's own goroutine look again.
func (t *Team) wakeUp() {
	select {
	case t.poke <- struct{}{}:
	default:
	}
}

// Body takes frames with a body, of which this way of reducing has none: they are those of a ring of another view.
func (t *Team) Body(_ int, h fabric.Header) ([]byte, error) {
	if h.Epoch == t.config.Epoch {
		return nil, errors.New("shm: a member sends data that belongs in shared memory")
	}
	return make([]byte, h.Length), nil
}

// Frame drops what a member has sent to the reducer of another view.
func (t *Team) Frame(int, fabric.Header, []byte) error { return nil }

// Closed does nothing: what a member has shown stays readable.
func (t *Team) Closed(int) {}

// Cancel ends the use of the view; see reduce.Reducer.
func (t *Team) Cancel(err error) {
	if err == nil {
		err = ErrClosed
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fail(err)
}

// fail is Cancel for who holds t.mu.
func (t *Team) fail(err error) {
	if t.err == nil {
		t.err = err
		close(t.canceled)
	}
}

// Waiting says what the step waits for; see reduce.Reducer.
func (t *Team) Waiting() (rank int, what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done == nil || t.closed {
		return -1, ""
	}
	for block, left := range t.left {
		if left > 0 {
			lo, hi := t.layout.bounds(block)
			return -1, fmt.Sprintf("its own gradients between elements %d and %d", lo, hi)
		}
	}
	for rank, b := range t.boards {
		for block := range t.left {
			if !b.ready(block, t.tag) {
				lo, hi := t.layout.bounds(block)
				return rank, fmt.Sprintf("gradients between elements %d and %d", lo, hi)
			}
		}
	}
	for rank, b := range t.boards {
		if done, _ := b.done(t.tag); !done && rank != t.config.Rank {
			return rank, "its part of the sum"
		}
	}
	return -1, "its own part of the sum"
}
