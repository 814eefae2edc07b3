package group

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"millrace.dev/fabric"
	"millrace.dev/group/reduce"
)

// Types of frames of the group itself; package reduce and package collective have theirs.
const (
	typeHello   uint8 = iota + 1 // who speaks; the first frame on each side
	typeMessage                  // of protocol.Machine
	typePlan                     // what the vector consists of, to one that has another
	typeMisfit                   // somebody has another vector
	typeJoin                     // let me in
	typeWelcome                  // you will be, and what to know before
	typeRefuse                   // why not
	typeDrain                    // leave at the next step
	typeWant                     // who has the state?
	typeHave                     // I do, or not yet
	typeTake                     // give me this stripe of it
	typeStripe                   // announces a stripe
	typePart                     // bytes of it
	typeAsk                      // a visitor's question
	typeAnswer
)

// maxPending is how many bytes of control frames of one link, headers included, may wait for the loop.
const maxPending = 4 << 20

var errPending = errors.New("more control frames than can be handled")

// hello introduces a worker.
type hello struct {
	Group   string
	From    Member
	To      ID     // whom the dialer means, 0 for whoever is there
	Plan    uint64 // digest of the vector's plan
	Shares  bool   // it can share memory with workers of its machine
	Visitor bool   // no worker: it only asks
}

// link is a connection to another worker, and the handler of its frames. The fields below mu belong to
// the callbacks, which come one at a time, and to flush.
type link struct {
	w          *Worker
	conn       fabric.Conn
	introduced int                   // incarnation of this worker that has said hello
	to         ID                    // the worker at the other end, 0 while unknown
	made       time.Time             // when it was accepted, or dialed
	peer       atomic.Pointer[hello] // nil before its hello has come
	heard      atomic.Int64          // when the last frame came, in nanoseconds after began
	moved      uint64                // bytes received when the loop looked last
	owed       atomic.Int64          // bytes of control frames that wait for the loop, headers included
	dropped    bool                  // closed here by the loop, which suspects the worker
	used       atomic.Bool           // more than hellos have passed: its end may lose something
	rejected   atomic.Bool           // closed here because it means somebody else: its end says nothing

	mu      sync.Mutex
	plane   *plane // that has given the body being received, nil: it is our own
	early   []stashed
	scratch []byte // for parts of the state, and for frames that are dropped
}

// began is what silence is counted from: by the process's own clock, as the machine's may be set meanwhile.
var began = time.Now()

// hear notes that the other end lives.
func (l *link) hear(now time.Time) { l.heard.Store(int64(now.Sub(began))) }

// lastHeard is when it was last known to.
func (l *link) lastHeard() time.Time { return began.Add(time.Duration(l.heard.Load())) }

// send sends a control frame. Each tells the last step that this worker has.
func (l *link) send(kind uint8, epoch uint64, body []byte) {
	l.used.Store(true)
	l.conn.Send(fabric.Control, fabric.Header{Type: kind, Epoch: epoch, Step: l.w.loop.account.Step}, body, nil)
}

// stashed is a frame of an epoch that is not in force here yet.
type stashed struct {
	h    fabric.Header
	body []byte
	held int
}

var _ fabric.Handler = (*link)(nil)

// dataFrame says whether a frame belongs to a view's data plane.
func dataFrame(t uint8) bool { return t >= reduce.FirstType && t <= reduce.LastType || callFrame(t) }

// Body implements fabric.Handler.
func (l *link) Body(_ fabric.Conn, h fabric.Header) ([]byte, error) {
	l.hear(time.Now())
	peer := l.peer.Load()
	switch {
	case peer == nil && (h.Type != typeHello || h.Length > 64<<10):
		return nil, errors.New("the first frame is no hello")
	case h.Type == typePart && h.Length <= partBytes:
		return l.drop(int(h.Length)), nil
	case !dataFrame(h.Type):
		if l.owed.Load()+int64(h.Length) > maxPending {
			return nil, errPending
		}
		return make([]byte, h.Length), nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.w.plane.Load()
	switch epoch := p.epochOf(); {
	case h.Epoch == 0:
		return nil, errNoEpoch
	case h.Epoch < epoch:
		l.w.stale.Add(1)
		l.plane = nil
		return l.drop(int(h.Length)), nil
	case h.Epoch > epoch || len(l.early) > 0:
		l.plane = nil
		return make([]byte, h.Length), nil
	}
	l.plane = p
	return p.body(peer.From.ID, h)
}

// errNoEpoch is for data of no view: epochs count from one, and before its first a worker has no plane.
var errNoEpoch = errors.New("data of epoch 0, which no view has")

// drop is room for bytes that nobody wants.
func (l *link) drop(n int) []byte {
	if cap(l.scratch) < n {
		l.scratch = make([]byte, n)
	}
	return l.scratch[:n]
}

// Frame implements fabric.Handler.
func (l *link) Frame(c fabric.Conn, h fabric.Header, body []byte) error {
	l.hear(time.Now())
	peer := l.peer.Load()
	switch {
	case h.Type == typeHello:
		return l.greet(body)
	case peer == nil:
		return errors.New("the first frame is no hello")
	}
	l.used.Store(true)
	switch {
	case h.Type == typePart:
		return l.w.part(peer.From.ID, h, body)
	case h.Type == typeStripe:
		return l.w.announce(peer.From.ID, h, body)
	case dataFrame(h.Type):
		return l.data(c, peer.From.ID, h, body)
	}
	n := int64(len(body)) + fabric.HeaderSize
	if l.owed.Add(n) > maxPending {
		return errPending
	}
	l.w.post(func(lp *loop) {
		l.owed.Add(-n)
		lp.control(l, h, body)
	})
	return nil
}

// data gives a frame to the reducer of its epoch, or keeps it until that epoch begins here.
func (l *link) data(c fabric.Conn, from ID, h fabric.Header, body []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.w.plane.Load()
	given := l.plane
	if h.Length == 0 {
		given = p
	}
	l.plane = nil
	switch epoch := p.epochOf(); {
	case h.Epoch == 0:
		return errNoEpoch
	case h.Epoch < epoch:
		// What was received into the old reducer's memory is still its own to account for.
		if given != nil && given != p {
			return given.frame(from, h, body)
		}
		if h.Length == 0 {
			l.w.stale.Add(1)
		}
		return nil
	case h.Epoch > epoch:
		if h.Length > 0 {
			c.Hold(int(h.Length))
		}
		if len(l.early) >= maxEarly {
			return fmt.Errorf("more than %d frames of epoch %d, which has not begun here", maxEarly, h.Epoch)
		}
		l.early = append(l.early, stashed{h, body, int(h.Length)})
		return nil
	case len(l.early) > 0:
		if err := l.flushLocked(c, p, from); err != nil {
			return err
		}
	}
	if h.Length > 0 && given != p {
		return p.deliver(from, h, body)
	}
	return p.frame(from, h, body)
}

// maxEarly bounds the frames kept for an epoch that has not begun here; their bodies are bounded by
// the connection's window.
const maxEarly = 4096

// flush delivers what came early for the plane that is now in force.
func (l *link) flush(p *plane) error {
	peer := l.peer.Load()
	if peer == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flushLocked(l.conn, p, peer.From.ID)
}

func (l *link) flushLocked(c fabric.Conn, p *plane, from ID) error {
	kept := l.early[:0]
	var failed error
	for _, s := range l.early {
		if s.h.Epoch > p.epoch {
			kept = append(kept, s)
			continue
		}
		if s.h.Epoch == p.epoch && failed == nil {
			failed = p.deliver(from, s.h, s.body)
		}
		if s.held > 0 {
			c.Release(s.held)
		}
	}
	clear(l.early[len(kept):])
	l.early = kept
	return failed
}

// reject closes a link that means another worker than there is.
func (l *link) reject(err error) {
	l.rejected.Store(true)
	l.conn.Close(err)
}

// greet takes the hello of the other side.
func (l *link) greet(body []byte) error {
	if l.peer.Load() != nil {
		return errors.New("a second hello")
	}
	h := &hello{}
	if err := json.Unmarshal(body, h); err != nil {
		return fmt.Errorf("a hello that cannot be read: %w", err)
	}
	if h.Group != l.w.config.Group && !h.Visitor {
		return fmt.Errorf("it belongs to the group %q, not %q", h.Group, l.w.config.Group)
	}
	l.peer.Store(h)
	l.w.post(func(lp *loop) { lp.greeted(l, h) })
	return nil
}

// Closed implements fabric.Handler.
func (l *link) Closed(_ fabric.Conn, err error) {
	l.mu.Lock()
	given := l.plane // it waits for the rest of a body, even if another has come into force
	l.plane, l.early = nil, nil
	l.mu.Unlock()
	if peer := l.peer.Load(); peer != nil {
		p := l.w.plane.Load()
		if given != nil && given != p {
			given.closed(peer.From.ID)
		}
		if l.used.Load() && !l.rejected.Load() || given == p {
			p.closed(peer.From.ID)
		}
	}
	l.w.post(func(lp *loop) { lp.unlinked(l, err) })
}
