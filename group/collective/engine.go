package collective

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"millrace.dev/fabric"
	"millrace.dev/group/shm"
)

const (
	// EarlyBytes bounds, for each other member, what is kept of calls that it has started and this one has not, headers
	// included. Senders respect it: they ask whether a call has started before they send more.
	EarlyBytes = 4 << 20
	// MaxCalls bounds the calls under way, and MaxNames their names, and the calls that others have started and this
	// member has not.
	MaxCalls, MaxNames = 1 << 14, 1 << 16
	// probeAfter is how long a call waits before it tells the others what it expects.
	probeAfter = 250 * time.Millisecond
)

// Config is what an Engine needs to know.
type Config struct {
	Epoch      uint64
	Rank, Size int
	Send       Sender
	Clock      fabric.Clock
	Model      Model // zero for DefaultModel; the same on all members
}

// Engine runs the calls of one member in one view.
type Engine struct {
	cfg Config

	mu     sync.Mutex
	err    error // of Cancel, or a lost member
	model  Model
	slice  int // most bytes of a frame
	names  map[uint32]*entry
	peers  []peer
	pool   pool
	memory *shm.Comm // nil: not shared
	turn   uint64    // the last that was given; of rank 0
	active int
	early  int     // calls of which something has come, and that have not started
	asking bool    // a timer runs
	over   []*Call // to be told so when the lock is released
}

// entry is what is known of a name.
type entry struct {
	hash   uint32
	name   string // once a call has started
	next   uint32 // number of the next call to start
	active []*Call
	early  map[uint32]*early

	task    task // of the program
	program *program
	spare   []lane
	edges   []edge
}

// early is what has come of a call that has not started.
type early struct {
	frames []earlyFrame
	asks   []int
	err    *Error
}

type earlyFrame struct {
	from  int
	h     fabric.Header
	block *block
}

// peer is another member.
type peer struct {
	out     outbox
	risk    int    // bytes sent to it of calls that it may not have started
	early   int    // bytes kept of it
	block   *block // where a frame of it is being received, if pooled
	granted *Call  // into whose destination a frame of it is being received
}

// New makes an engine for a view.
func New(cfg Config) (*Engine, error) {
	if cfg.Size < 1 || cfg.Rank < 0 || cfg.Rank >= cfg.Size || cfg.Clock == nil || cfg.Send == nil {
		return nil, fmt.Errorf("collective: rank %d of %d members", cfg.Rank, cfg.Size)
	}
	if cfg.Model == (Model{}) {
		cfg.Model = DefaultModel
	}
	e := &Engine{cfg: cfg, model: cfg.Model, slice: sliceBytes, names: map[uint32]*entry{}, peers: make([]peer, cfg.Size)}
	for to := range e.peers {
		e.peers[to].out = outbox{to: to, limit: flyingBytes, send: cfg.Send, sent: func(error) { e.sent(to) }}
	}
	return e, nil
}

// SetModel changes what later calls choose algorithms by. It must be the same on all members at the same call.
func (e *Engine) SetModel(m Model) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.model = m
}

// unlock releases the lock and tells what is over.
func (e *Engine) unlock() {
	over := e.over
	e.over = nil
	e.mu.Unlock()
	for _, c := range over {
		c.tell()
	}
}

// Cancel ends the use of the view: all calls fail with err, later frames are dropped, and no call starts. It returns
// at once and may be repeated.
func (e *Engine) Cancel(err error) {
	e.mu.Lock()
	defer e.unlock()
	e.close(err)
}

// close fails all calls.
func (e *Engine) close(err error) {
	if e.err != nil {
		return
	}
	e.err = err
	if e.memory != nil {
		e.memory.Cancel(err)
	}
	for _, n := range e.names {
		for _, c := range slices.Clone(n.active) {
			e.fail(c, err)
		}
		n.early = nil
	}
	e.early = 0
}

// Closed says that nothing will come from a member any more, and that no Body of it is being filled. Every call
// needs every member, so all fail.
func (e *Engine) Closed(from int) {
	e.mu.Lock()
	defer e.unlock()
	_, inPlace := e.received(&e.peers[from])
	e.close(&Error{Rank: from, Err: ErrGone, Text: fmt.Sprintf("the connection to rank %d is lost", from)})
	if inPlace != nil {
		e.conclude(inPlace)
	}
}

// sent is called by the fabric for each frame that it is done with.
func (e *Engine) sent(to int) {
	e.mu.Lock()
	defer e.unlock()
	o := &e.peers[to].out
	p := o.landed()
	e.dropped(&p)
	o.pump()
}

// dropped notes that a frame does not need its body any more.
func (e *Engine) dropped(p *parcel) {
	e.pool.put(p.block)
	c := p.call
	if p.fresh {
		c.fresh--
		e.initiate(c)
	}
	if p.block == nil && len(p.body) > 0 {
		c.refs--
	}
	e.conclude(c)
}

// entryOf finds or makes the entry of a hash; nil if there are too many.
func (e *Engine) entryOf(hash uint32) *entry {
	n := e.names[hash]
	if n == nil && len(e.names) < MaxNames {
		n = &entry{hash: hash}
		e.names[hash] = n
	}
	return n
}

// call finds a call under way.
func (n *entry) call(seq uint32) *Call {
	for _, c := range n.active {
		if c.seq == seq {
			return c
		}
	}
	return nil
}

var errTooMany = errors.New("collective: too many calls under way, or names")

// Request asks for an operation.
type Request struct {
	// Name tells calls apart: those of the same name match in the order of their starts, others need no order. A view
	// knows MaxNames of them for good: what is done again and again has one name.
	Name string
	Kind Kind
	Op   Op // for reductions
	// Dst gets the result and Src has this member's part. Without Src, Dst holds it: all of Dst for an
	// all-reduce and a broadcast, this member's block of it for an all-gather. A reduce-scatter needs both.
	// They may not overlap otherwise. Neither may be touched until the call is released.
	Dst, Src Buffer
	Weight   uint64 // for a weighted mean
	Root     int    // for a broadcast
	// Algorithm is Auto or what must be the same on all members.
	Algorithm Algorithm
	// Done, if not nil, is called once when the result is known, and must not block.
	Done func(error)

	released func(*Call) // like Done, when the buffers are
}

// Start starts a call. What is wrong with the request on this member alone is told to all. An error means that the call
// has not started; whatever happens later the call says.
func (e *Engine) Start(r Request) (*Call, error) {
	e.mu.Lock()
	defer e.unlock()
	if e.err != nil {
		return nil, e.err
	}
	n := e.entryOf(hashOf(r.Name))
	if n == nil || e.active >= MaxCalls {
		return nil, errTooMany
	}
	if n.name != "" && n.name != r.Name || r.Name == "" {
		return nil, fmt.Errorf("collective: the name %q cannot be told from %q: choose another", r.Name, n.name)
	}
	n.name = r.Name
	seq := n.next
	n.next++
	came := n.early[seq]
	if came != nil {
		e.early--
		delete(n.early, seq)
	}

	c, err := e.prepare(n, seq, r)
	if err != nil {
		e.forget(came)
		e.abort(n, seq, err)
		return nil, err
	}
	n.active = append(n.active, c)
	e.active++
	e.begin(c, came)
	return c, nil
}

// number makes seq the number of the next call of a name.
func (e *Engine) number(name string, seq uint32) {
	e.mu.Lock()
	defer e.unlock()
	if n := e.entryOf(hashOf(name)); n != nil && len(n.active) == 0 {
		n.next = seq
	}
}

// begin takes what came early of a call and starts its lanes.
func (e *Engine) begin(c *Call, came *early) {
	if came != nil {
		if came.err != nil {
			e.forget(came)
			came.err.Name = c.entry.name
			e.fail(c, came.err)
			return
		}
		for _, from := range came.asks {
			e.answer(c.entry.hash, c.seq, from)
		}
		for _, f := range came.frames {
			e.peers[f.from].early -= earlyCost(f.h)
			if err := e.deliver(c, f.from, f.h, f.block); err != nil {
				e.failAll(c, &Error{Name: c.req.Name, Rank: f.from, Err: ErrMismatch, Text: err.Error()})
			}
		}
	}
	e.initiate(c)
	if !e.asking && c.result == pending && e.cfg.Size > 1 {
		e.asking = true
		e.cfg.Clock.AfterFunc(probeAfter, e.probe)
	}
	e.conclude(c)
}

// forget drops what came early.
func (e *Engine) forget(came *early) {
	if came == nil {
		return
	}
	for _, f := range came.frames {
		e.peers[f.from].early -= earlyCost(f.h)
		e.pool.put(f.block)
	}
	came.frames = nil
}

// abort tells all others that a call has failed here.
func (e *Engine) abort(n *entry, seq uint32, err *Error) {
	h, text := abortHeader(e.cfg.Epoch, n.hash, seq, err), abortText(err)
	for to := range e.peers {
		if to != e.cfg.Rank {
			e.cfg.Send(to, fabric.Control, h, text, nil)
		}
	}
}

// probe tells the others what calls that have waited long expect, in case they call something else by the name.
func (e *Engine) probe() {
	e.mu.Lock()
	defer e.unlock()
	e.asking = false
	if e.err != nil {
		return
	}
	now := e.cfg.Clock.Now()
	for _, n := range e.names {
		for _, c := range n.active {
			if c.probed {
				continue
			}
			e.asking = true
			if now.Sub(c.started) < probeAfter {
				continue
			}
			c.probed = true
			h := c.id.header(frameProbe, e.cfg.Epoch, n.hash, c.seq)
			for to := range e.peers {
				if to != e.cfg.Rank {
					e.cfg.Send(to, fabric.Control, h, nil, nil)
				}
			}
		}
	}
	if e.asking {
		e.cfg.Clock.AfterFunc(probeAfter, e.probe)
	}
}
