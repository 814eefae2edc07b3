package shm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"millrace.dev/fabric"
	"millrace.dev/internal/unixsock"
)

const (
	// slots is the number of pieces that a member can be ahead of the others.
	slots = 4
	// directBytes is the size up to which every member sums whole pieces by itself, whatever their number: one round
	// of messages instead of two.
	directBytes = 16 << 10
	// streamBytes is the size of all members' buffers together from which results are not in a cache any more when somebody
	// reads them. Nor is a buffer, by the time that its result comes.
	streamBytes = 32 << 20
	// spin is how long a member looks for the others' marks before it sleeps, where every member can have a CPU.
	spin = 20 * time.Microsecond
	// turns is how often a member leaves its CPU to others before it sleeps, where there are more members than CPUs.
	// Waking it costs more than many turns.
	turns = 8
	// turn is what a member may do with a CPU that others leave to it. Who is away for longer than the turns of all has
	// left it to others than members, which keep it: sleepers are woken sooner.
	turn = 500 * time.Microsecond
	// naps is how many waits a member then sleeps through without leaving its CPU first.
	naps = 5
)

// Comm combines ordinary buffers of the members of one view through a small staging area. It is made by
// Door.Join and to be closed. All members call the same operations in the same order.
type Comm struct {
	view   View
	boards []commBoard
	stages [][]byte // by rank
	piece  int      // bytes
	own    []byte   // mapping of the own file
	peers  [][]byte
	spins  bool

	poke     chan struct{}
	canceled chan struct{}

	calls sync.Mutex // held by the operation under way

	mu     sync.Mutex
	err    error
	closed bool

	next  uint64 // pieces of all operations before this one
	pass  pass
	parts [][]byte
	naps  int              // waits from now on to sleep through
	told  [][counts]uint64 // by rank the wants of which it has been told that they are met
}

// Join makes the staging areas of a view's members. It succeeds on all or fails on all, as Attach does.
func (d *Door) Join(ctx context.Context, view View) (*Comm, error) {
	if err := view.check(d); err != nil {
		return nil, err
	}
	n := len(view.IDs)
	c := &Comm{
		view: view, boards: make([]commBoard, n), stages: make([][]byte, n), parts: make([][]byte, n), told: make([][counts]uint64, n),
		piece: pieceBytes(n), spins: n <= runtime.NumCPU(),
		poke: make(chan struct{}, 1), canceled: make(chan struct{}),
	}
	if err := c.join(ctx, d); err != nil {
		c.unmap()
		return nil, err
	}
	return c, nil
}

// pieceBytes is how buffers of n members are cut: so long that marks cost little beside the work, and so short that the
// staging areas of up to 32 members stay in a cache.
func pieceBytes(n int) int {
	const all = 8 << 20
	return min(max(all/slots/n>>12<<12, 64<<10), 256<<10)
}

// stageBytes is the size of a comm's file.
func (c *Comm) stageBytes() (board, all int) {
	board = roundUp(commWords*8, os.Getpagesize())
	return board, board + slots*c.piece
}

func (c *Comm) join(ctx context.Context, d *Door) error {
	board, size := c.stageBytes()
	me := c.view.Rank
	fd, own, refusal := create("millrace-stage", size, true)
	if refusal == nil {
		defer unixsock.CloseFiles([]int{fd})
		c.own = own
		c.boards[me], c.stages[me] = commBoard(boardOf(own, board)), own[board:]
	}
	mine := offer{
		use: useComm, epoch: c.view.Epoch, from: d.id, rank: uint32(me), n: uint32(len(c.view.IDs)),
		page: uint32(os.Getpagesize()),
	}
	m, err := d.meet(ctx, mine, c.view.IDs, []int{fd}, refusal)
	defer m.close()
	if err != nil {
		return err
	}
	for rank, fds := range m.fds {
		if rank == me {
			continue
		}
		_, err := checkPeer(fds[0], size)
		var stage []byte
		if err == nil {
			stage, err = mapPeer(fds[0], size)
		}
		if err != nil {
			return unsupported(fmt.Sprintf("mapping the memory of rank %d", rank), err)
		}
		c.peers = append(c.peers, stage)
		c.boards[rank], c.stages[rank] = commBoard(boardOf(stage, board)), stage[board:]
	}
	return m.agree(ctx)
}

func (c *Comm) unmap() {
	for _, mem := range c.peers {
		unmap(mem)
	}
	unmap(c.own)
	c.peers, c.own = nil, nil
}

// Body takes frames with a body, of which there are none.
func (c *Comm) Body(int, fabric.Header) ([]byte, error) {
	return nil, errors.New("shm: a member sends data that belongs in shared memory")
}

// Frame takes a frame of type CommType.
func (c *Comm) Frame(_ int, h fabric.Header, _ []byte) error {
	if h.Epoch == c.view.Epoch {
		select {
		case c.poke <- struct{}{}:
		default:
		}
	}
	return nil
}

// Cancel makes the operation under way, and all later ones, fail. It returns at once.
func (c *Comm) Cancel(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.canceled)
	}
}

// Close cancels what is under way, waits for its end and unmaps the memory.
func (c *Comm) Close() error {
	c.Cancel(ErrClosed)
	c.calls.Lock()
	defer c.calls.Unlock()
	if !c.closed {
		c.closed = true
		c.unmap()
	}
	return nil
}

func (c *Comm) stop() error {
	select {
	case <-c.canceled:
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.err
	default:
		return nil
	}
}

// AllReduce combines the buffers of all members, which have the same length, and leaves the result in each of
// them. When it fails the buffer holds nothing of use, and the comm is of no use any more if other members
// take part in the operation. A comm does one operation at a time.
func (c *Comm) AllReduce(ctx context.Context, buf []byte, op Operation) error {
	c.calls.Lock()
	defer c.calls.Unlock()
	if err := c.stop(); err != nil {
		return err
	}
	if len(buf) == 0 || len(c.view.IDs) == 1 {
		if op.Finish != nil {
			op.Finish(buf)
		}
		return nil
	}
	p := &c.pass // here, so that it is not allocated
	*p = pass{c: c, op: op, buf: buf, base: c.next, meta: op.hash(len(buf))}
	defer func() { p.op, p.buf = Operation{}, nil }()
	p.pieces = uint64((len(buf) + c.piece - 1) / c.piece)
	p.direct = len(c.view.IDs) == 2 || len(buf) <= directBytes
	p.stream = len(buf)*len(c.view.IDs) >= streamBytes
	c.next += p.pieces
	if err := p.run(ctx); err != nil {
		c.Cancel(fmt.Errorf("shm: the operation on %q failed: %w", op.Name, err))
		return err
	}
	return nil
}
