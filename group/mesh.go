package group

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"millrace.dev/fabric"
	"millrace.dev/group/lifeline"
	"millrace.dev/group/protocol"
)

// mesh is the connections of a worker: one, sometimes a few, to each member of its view, and some to
// others who want in or do not know yet that they are out.
type mesh struct {
	lp        *loop
	listener  fabric.Listener
	view      View // in force
	links     map[ID][]*link
	all       map[*link]bool
	past      fabric.Stats // of links that have ended: bytes alone
	suspected map[ID]bool
	lost      map[ID]bool      // had a link in this view
	steps     map[ID]uint64    // the last that members have, as far as they have said so
	dialed    map[ID]dialing   // the last attempts
	joined    map[ID]time.Time // since when a member is expected
	lastBeat  time.Time
	line      *lifeline.Line // nil: none here
	watched   map[ID]*lifeline.Watched
}

type dialing struct {
	at    time.Time
	times int
}

const (
	maxLinks   = 2048                   // of all kinds
	gathering  = 30 * time.Second       // how long founders wait for one that was never there
	lingering  = 250 * time.Millisecond // how long one that has left may still hear that it may go
	redialLong = time.Second            // between two dials, at most
	strangers  = 10 * time.Second       // how long a connection may not say who it is
)

func (m *mesh) init(lp *loop) {
	m.lp = lp
	m.all = map[*link]bool{}
	m.reset()
}

// reset forgets a view and closes its connections.
func (m *mesh) reset() {
	for l := range m.all {
		l.conn.Close(errCutOff)
	}
	m.unwatch(func(ID) bool { return true })
	if m.line != nil {
		m.line.Close() //nolint:errcheck // nothing is lost with it
		m.line = nil
	}
	m.view = View{}
	m.links = map[ID][]*link{}
	m.suspected, m.lost, m.steps = map[ID]bool{}, map[ID]bool{}, map[ID]uint64{}
	m.dialed, m.joined = map[ID]dialing{}, map[ID]time.Time{}
	m.watched = map[ID]*lifeline.Watched{}
}

func (m *mesh) close() {
	m.listener.Close() //nolint:errcheck // nothing is lost with it
	m.flush()
	m.reset()
}

// flushing bounds how long a worker that ends waits for its last words to leave.
const flushing = 200 * time.Millisecond

// flush waits until what was sent has left: others may need this worker's word on the last step.
func (m *mesh) flush() {
	for end := time.Now().Add(flushing); time.Now().Before(end); time.Sleep(time.Millisecond) {
		queued := int64(0)
		for l := range m.all {
			if l.peer.Load() != nil {
				queued += l.conn.Stats().Queued
			}
		}
		if queued == 0 {
			return
		}
	}
}

// accept takes a connection that another worker has made. It runs on the connection's goroutine.
func (m *mesh) accept(c fabric.Conn) (fabric.Handler, error) {
	l := &link{w: m.lp.w, conn: c, made: time.Now()}
	l.hear(time.Now())
	if !m.lp.w.inbox.post(func() { m.accepted(l) }) {
		return nil, ErrClosed
	}
	return l, nil
}

func (m *mesh) accepted(l *link) {
	if len(m.all) >= maxLinks {
		l.conn.Close(errors.New("too many connections"))
		return
	}
	m.all[l] = true
	m.introduce(l, 0)
}

// introduce says who this worker is.
func (m *mesh) introduce(l *link, to ID) {
	lp := m.lp
	body, err := json.Marshal(hello{
		Group: lp.config.Group, From: lp.self, To: to, Plan: lp.w.plan, Shares: lp.door != nil,
	})
	if err != nil {
		lp.fail(err)
		return
	}
	l.introduced = lp.incarnation
	l.conn.Send(fabric.Control, fabric.Header{Type: typeHello}, body, nil)
}

// dial connects to a worker. What is sent waits until the connection stands.
func (m *mesh) dial(addr string, to ID) *link {
	l := &link{w: m.lp.w, to: to, made: time.Now()}
	l.hear(time.Now())
	l.conn = m.lp.config.Network.Dial(addr, l)
	m.all[l] = true
	if to != 0 {
		m.links[to] = append(m.links[to], l)
		d := m.dialed[to]
		m.dialed[to] = dialing{time.Now(), d.times + 1}
	}
	m.introduce(l, to)
	return l
}

// greeted takes the hello of a link's other side.
func (lp *loop) greeted(l *link, h *hello) {
	m := &lp.mesh
	switch {
	case !m.all[l]:
		return
	case l.introduced != lp.incarnation || h.To != 0 && h.To != lp.self.ID:
		l.reject(errors.New("it means an earlier incarnation of this worker"))
		return
	case l.to != 0 && l.to != h.From.ID:
		l.conn.Close(fmt.Errorf("%q has begun anew", h.From.Name))
		return
	case h.Visitor:
		return
	case h.Plan != lp.w.plan:
		lp.differs(l, h)
		return
	}
	if l.to == 0 {
		l.to = h.From.ID
		m.links[l.to] = append(m.links[l.to], l)
	}
	if lp.wrong != nil {
		lp.tellMisfit(l)
		return
	}
	delete(m.suspected, l.to) // it is back; should the machine hear nothing of it, it goes on without it
	m.watch(h.From)
	lp.form()
	lp.joining.met(l)
	lp.seekAt(h.From)
}

// unlinked hears that a connection is over.
func (lp *loop) unlinked(l *link, err error) {
	m := &lp.mesh
	if !m.all[l] {
		return
	}
	delete(m.all, l)
	stats := l.conn.Stats()
	m.past.BytesSent += stats.BytesSent
	m.past.BytesReceived += stats.BytesReceived
	id := l.to
	lp.joining.lost(l, err)
	rest := slices.DeleteFunc(slices.Clone(m.links[id]), func(other *link) bool { return other == l })
	if m.links[id] = rest; len(rest) == 0 {
		delete(m.links, id)
		m.unwatch(func(other ID) bool { return other == id })
	}
	if id == 0 || id == lp.self.ID || l.introduced != lp.incarnation || l.rejected.Load() || l.dropped {
		return
	}
	if len(rest) > 0 && !l.used.Load() {
		return // a spare one
	}
	if l.peer.Load() == nil && m.view.Has(id) && !m.lost[id] && time.Since(m.joined[id]) < m.patience() {
		return // it was never there; it is dialed again
	}
	lp.suspect(id, fmt.Sprintf("the connection has ended: %v", err))
}

// moved is how many bytes have gone over all links.
func (m *mesh) moved() (sent, received uint64) {
	sent, received = m.past.BytesSent, m.past.BytesReceived
	for l := range m.all {
		stats := l.conn.Stats()
		sent += stats.BytesSent
		received += stats.BytesReceived
	}
	return sent, received
}

// patience is how long a member that was never there is waited for.
func (m *mesh) patience() time.Duration {
	if m.view.Epoch == 1 {
		return gathering
	}
	return m.lp.config.Suspect
}

// say sends a message of the machine.
func (m *mesh) say(to Member, msg protocol.Message) {
	body, err := protocol.Append(nil, msg)
	if err != nil {
		m.lp.fail(err)
		return
	}
	m.control(to, typeMessage, body)
}

// control sends a frame to a worker, over a connection that it makes where there is none.
func (m *mesh) control(to Member, kind uint8, body []byte) {
	l := m.best(to.ID)
	if l == nil {
		if to.Addr == "" {
			return // a stranger that has hung up
		}
		l = m.dial(to.Addr, to.ID)
	}
	l.send(kind, m.view.Epoch, body)
}

// best is the connection to send to a worker, one that stands if there is one.
func (m *mesh) best(id ID) *link {
	var best *link
	for _, l := range m.links[id] {
		switch {
		case l.dropped:
		case l.peer.Load() != nil:
			return l
		case best == nil:
			best = l
		}
	}
	return best
}

// connect dials the members that this worker has no connection to, where it is its turn: the younger
// of two dials, and whoever has lost the other.
func (m *mesh) connect() {
	me := m.view.Rank(m.lp.self.ID)
	for rank, member := range m.view.Members {
		if rank == me || len(m.links[member.ID]) > 0 || rank > me && !m.lost[member.ID] {
			continue
		}
		d := m.dialed[member.ID]
		pause := min(10*time.Millisecond<<min(d.times, 10), redialLong)
		if d.times == 0 || time.Since(d.at) >= pause {
			m.dial(member.Addr, member.ID)
		}
	}
}

// sweep ends connections over which nobody has said who it is.
func (m *mesh) sweep(now time.Time) {
	for l := range m.all {
		if l.to == 0 && l.peer.Load() == nil && now.Sub(l.made) > strangers {
			l.conn.Close(errors.New("it does not say who it is"))
		}
	}
}

// follow makes the mesh that of a view: connections to those who have gone end soon.
func (m *mesh) follow(view View) {
	now := time.Now()
	for id := range m.suspected {
		if !view.Has(id) {
			delete(m.suspected, id)
		}
	}
	for _, member := range m.view.Members {
		if view.Has(member.ID) {
			continue
		}
		delete(m.joined, member.ID)
		delete(m.lost, member.ID)
		delete(m.steps, member.ID)
		delete(m.dialed, member.ID)
		gone, wait := m.links[member.ID], time.Duration(0)
		if m.lp.leavers[member.ID] {
			wait = lingering // it has still to hear that it may go
		}
		time.AfterFunc(wait, func() {
			for _, l := range gone {
				l.conn.Close(errGone)
			}
		})
	}
	for _, member := range view.Members {
		if _, known := m.joined[member.ID]; !known {
			m.joined[member.ID] = now
		}
	}
	m.view = view
	m.unwatch(func(id ID) bool { return len(m.links[id]) == 0 && !view.Has(id) })
	m.connect()
}

var errGone = errors.New("it is no member any more")
