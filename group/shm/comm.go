package shm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"millrace.dev/internal/unixsock"
)

const (
	// slots is the number of pieces that a member can be ahead of the others.
	slots = 4
	// streamBytes is the size of all members' buffers together from which results are not in a cache any more when somebody
	// reads them. Nor is a buffer, by the time that its result comes.
	streamBytes = 32 << 20
	// spin is how long a member looks for the others' marks before it sleeps, where every member can have a CPU.
	spin = 20 * time.Microsecond
	// turns is how often a member leaves its CPU to others before it sleeps, where there are more members than CPUs.
	turns = 8
	// turn is what a member may do with a CPU that others leave to it. Who is away for longer than the turns of all has
	// left it to others than members, which keep it: sleepers are woken sooner.
	turn = 500 * time.Microsecond
	// naps is how many waits a member then sleeps through without leaving its CPU first.
	naps = 5
	// nap bounds a sleep, after which a member looks whether it is canceled.
	nap = 5 * time.Millisecond
	// leastPiece is the size of a piece of many members' buffers, and maxMembers how many of them have a line of it each.
	leastPiece, maxMembers = 64 << 10, leastPiece / line
	// maxAhead bounds the exchanges that have started and whose turn has not come.
	maxAhead = 1 << 16
)

// Comm reduces and exchanges ordinary buffers of the members of one view through a small staging area, one after the other. It is
// made by Door.Join and to be closed.
type Comm struct {
	view   View
	boards []commBoard
	stages [][]byte // by rank
	piece  int      // bytes
	own    []byte   // mapping of the own file
	peers  [][]byte
	spins  bool

	poke     chan struct{} // something has started
	canceled chan struct{}
	stopped  chan struct{}
	closing  sync.Once

	mu      sync.Mutex
	err     error
	turn    uint64 // number of the exchange under way, or to come next
	started map[uint64]Exchange

	x     Exchange // under way; this and the rest are the goroutine's of run
	next  uint64   // pieces of all exchanges before this one
	pass  pass
	parts [][]byte
	naps  int // waits from now on to sleep through
}

// Join makes the staging areas of a view's members. It succeeds on all or fails on all, as Attach does.
func (d *Door) Join(ctx context.Context, view View) (*Comm, error) {
	if err := view.check(d); err != nil {
		return nil, err
	}
	n := len(view.IDs)
	switch {
	case n < 2:
		return nil, errors.New("shm: a member alone has nobody to exchange anything with")
	case n > maxMembers:
		return nil, unsupported(fmt.Sprintf("staging areas of %d members", n), nil)
	}
	c := &Comm{
		view: view, boards: make([]commBoard, n), stages: make([][]byte, n), parts: make([][]byte, n),
		piece: pieceBytes(n), spins: n <= runtime.NumCPU(),
		poke: make(chan struct{}, 1), canceled: make(chan struct{}), stopped: make(chan struct{}),
		turn: 1, started: map[uint64]Exchange{},
	}
	if err := c.join(ctx, d); err != nil {
		c.unmap()
		return nil, err
	}
	go c.run()
	return c, nil
}

// pieceBytes is how buffers of n members are cut: so long that marks cost little beside the work, and so short that the
// staging areas of up to 32 members stay in a cache.
func pieceBytes(n int) int {
	const all = 8 << 20
	return min(max(all/slots/n>>12<<12, leastPiece), 256<<10)
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

// Start takes part in an exchange. All members take part in all of a view's exchanges, in the order of their
// numbers 1, 2, 3, …, in whatever order they start. An error means that this one has not started; whatever happens later Done says.
func (c *Comm) Start(number uint64, x Exchange) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	if _, twice := c.started[number]; twice || number < c.turn || number-c.turn > maxAhead {
		return fmt.Errorf("shm: exchange %d starts out of turn: the next is number %d", number, c.turn)
	}
	c.started[number] = x
	if number == c.turn {
		select {
		case c.poke <- struct{}{}:
		default:
		}
	}
	return nil
}

// run does one exchange after the other until the Comm is canceled.
func (c *Comm) run() {
	defer close(c.stopped)
	for {
		if err := c.await(); err != nil {
			c.fail(err)
			return
		}
		err := c.exchange()
		c.mu.Lock()
		delete(c.started, c.turn)
		c.turn++
		c.mu.Unlock()
		c.x.Done(err)
		c.x = Exchange{}
	}
}

// await waits for the exchange whose turn it is.
func (c *Comm) await() error {
	for {
		c.mu.Lock()
		x, there := c.started[c.turn]
		err := c.err
		c.mu.Unlock()
		if there || err != nil {
			c.x = x
			return err
		}
		select {
		case <-c.poke:
		case <-c.canceled:
		}
	}
}

// fail ends what has started and will not be done.
func (c *Comm) fail(err error) {
	c.mu.Lock()
	started := c.started
	c.started = nil // nothing starts any more
	c.mu.Unlock()
	for _, x := range started {
		x.Done(err)
	}
}

func (c *Comm) exchange() error {
	p := &c.pass // here, so that it is not allocated
	*p = pass{c: c, x: &c.x}
	p.prepare()
	c.next += p.pieces
	defer clear(c.parts) // which keep a buffer alive
	return p.run()
}

// Cancel makes the exchange under way, and all later ones, fail. It returns at once.
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
	<-c.stopped
	c.closing.Do(c.unmap)
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
