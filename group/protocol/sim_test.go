package protocol

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"millrace.dev/fabric"
	"millrace.dev/fabric/sim"
	"millrace.dev/group/ledger"
)

// A simulated job: workers on hosts of a simulated network that train with machines as their
// protocol, an authority on a host of its own, and a checker that looks at all that they do.

// Times of the simulation. Steps take about 50 ms.
const (
	beatEvery    = 100 * time.Millisecond
	suspectAfter = 350 * time.Millisecond
	askTimeout   = 150 * time.Millisecond
)

// Kinds of frames.
const (
	frameMessage uint8 = iota + 1
	frameGive          // a gradient's chunk to the chunk's owner
	frameMean          // a chunk of the mean from its owner
	frameJoin          // a newcomer wants in
	frameFetch         // a joiner wants the state
	frameState
	frameAsk // to the authority
	frameAnswer
)

// job is one schedule under way.
type job struct {
	random    *rand.Rand
	world     *sim.World
	authority Authority
	register  *register
	workers   []*worker // all that ever were
	lastID    ID
	check     *checker
	batch     uint64
	samples   uint64
	sabotage  string                       // what is done wrong on purpose
	cancelled func(w *worker)              // tells that a change has begun
	round     func(w *worker, msg Message) // tells each message of a change
	messages  int                          // of the protocol, beats left out
	trace     io.Writer
	bare      bool
}

func (j *job) log(who, format string, args ...any) {
	if j.trace != nil {
		fmt.Fprintf(j.trace, "%9.3f ms  %-6s %s\n", float64(j.world.Now().Sub(epoch0).Microseconds())/1000, who, fmt.Sprintf(format, args...))
	}
}

var epoch0 = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func (j *job) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(j.random.Int64N(int64(hi-lo)+1))
}

// way is a connection that a worker sends on: messages and data have one each, so either may
// overtake the other.
type way struct {
	to   ID
	data bool
}

// worker is one incarnation of a worker: the driver of one machine, with a tiny model.
type worker struct {
	job   *job
	self  Member
	host  *sim.Host
	m     *Machine
	born  time.Time
	timer fabric.Timer

	out      map[way]fabric.Conn
	heard    map[ID]time.Time
	ended    bool
	left     bool // by its own wish
	leaving  bool
	dead     bool // killed
	slow     int  // its computation takes so many times longer
	stalled  string
	asked    int
	service  fabric.Conn
	listener fabric.Listener

	// Training.
	has     bool  // the state
	theta   model // parameters
	ledger  ledger.Ledger
	assign  []uint64  // members that take a share of the next step
	backlog []applied // what a joiner without the state has committed
	step    reduction
	early   []earlyFrame
	live    bool // data may flow in this epoch
}

// newWorker makes a worker, which start sets going.
func (j *job) newWorker(name string) *worker {
	j.lastID++
	w := &worker{job: j, host: j.world.Host(name), out: map[way]fabric.Conn{}, heard: map[ID]time.Time{}, slow: 1}
	w.self = Member{ID: j.lastID, Name: name, Addr: fmt.Sprintf("sim:%s:%d", name, j.lastID), Host: name}
	w.born = j.world.Now()
	j.workers = append(j.workers, w)
	return w
}

// start makes the worker's machine and listens.
func (w *worker) start(founders *View) {
	cfg := Config{Self: w.self, Authority: w.job.authority}
	var err error
	if founders != nil {
		w.m, err = New(cfg, *founders)
		w.has, w.live = true, true
		for _, f := range founders.Members {
			w.assign = append(w.assign, uint64(f.ID))
		}
	} else {
		w.m, err = NewJoiner(cfg)
	}
	if err != nil {
		panic(err)
	}
	if w.listener, err = w.host.Listen(w.self.Addr, func(fabric.Conn) (fabric.Handler, error) { return &incoming{w: w}, nil }); err != nil {
		panic(err)
	}
	if w.job.bare {
		return
	}
	if founders != nil {
		w.hear()
		w.begin()
	}
	w.host.AfterFunc(w.job.between(0, beatEvery), w.beat)
}

// hear counts the members of a new view as heard.
func (w *worker) hear() {
	for _, m := range w.m.View().Members {
		w.heard[m.ID] = w.host.Now()
	}
}

// beat tells the others that the worker lives, and suspects the silent.
func (w *worker) beat() {
	if w.ended {
		return
	}
	now := w.host.Now()
	for _, m := range w.m.View().Members {
		if m.ID == w.self.ID {
			continue
		}
		w.sendMessage(m, &Beat{Epoch: w.m.View().Epoch})
		if now.Sub(w.heard[m.ID]) > suspectAfter {
			w.heard[m.ID] = now // again later
			w.handle(Suspect{m.ID})
			if w.ended {
				return
			}
		}
	}
	if w.m.View().Epoch == 0 {
		w.askIn()
	} else if !w.has {
		w.fetch()
	}
	w.host.AfterFunc(beatEvery, w.beat)
}

// askIn asks some worker to be let in. After long waiting the worker begins anew.
func (w *worker) askIn() {
	if w.host.Now().Sub(w.born) > 3*time.Second {
		w.again()
		return
	}
	var members []*worker
	for _, o := range w.job.workers {
		if !o.dead && !o.ended && o.m.View().Epoch > 0 {
			members = append(members, o)
		}
	}
	if len(members) > 0 {
		o := members[w.job.random.IntN(len(members))]
		w.send(o.self, fabric.Header{Type: frameJoin}, nil)
	}
}

// again replaces an incarnation by the next.
func (w *worker) again() {
	w.stop()
	w.job.log(w.name(), "begins anew")
	w.job.newWorker(w.self.Name).start(nil)
}

func (w *worker) stop() {
	if w.ended {
		return
	}
	w.ended = true
	w.live = false
	_ = w.listener.Close()
	ways := slices.Collect(maps.Keys(w.out))
	slices.SortFunc(ways, func(a, b way) int { return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(bit(a.data), bit(b.data))) })
	for _, to := range ways {
		w.out[to].Close(nil)
	}
	if w.timer != nil {
		w.timer.Stop()
	}
}

func (w *worker) name() string { return fmt.Sprintf("%s#%d", w.self.Name, w.self.ID) }

// incoming takes what a peer sends.
type incoming struct {
	w    *worker
	from ID
}

func (i *incoming) Body(_ fabric.Conn, h fabric.Header) ([]byte, error) {
	return make([]byte, h.Length), nil
}

func (i *incoming) Frame(c fabric.Conn, h fabric.Header, body []byte) error {
	i.from = ID(h.Aux)
	if !i.w.ended {
		i.w.heard[i.from] = i.w.host.Now()
		i.w.frame(c, i.from, h, body)
	}
	return nil
}

func (i *incoming) Closed(fabric.Conn, error) {
	if i.from != 0 && !i.w.ended {
		i.w.handle(Suspect{i.from})
	}
}

// outgoing is the other end of a connection that this worker only sends on.
type outgoing struct {
	w  *worker
	to way
}

func (o *outgoing) Body(fabric.Conn, fabric.Header) ([]byte, error) {
	return nil, errors.New("unexpected")
}
func (o *outgoing) Frame(fabric.Conn, fabric.Header, []byte) error { return errors.New("unexpected") }
func (o *outgoing) Closed(c fabric.Conn, _ error) {
	if o.w.out[o.to] == c {
		delete(o.w.out, o.to)
	}
	if !o.w.ended {
		o.w.handle(Suspect{o.to.to})
	}
}

func (w *worker) send(to Member, h fabric.Header, body []byte) {
	via := way{to.ID, h.Type != frameMessage}
	c := w.out[via]
	if c == nil {
		if to.Addr == "" {
			for _, o := range w.job.workers { // a real driver answers on the connection
				if o.self.ID == to.ID {
					to = o.self
				}
			}
		}
		c = w.host.Dial(to.Addr, &outgoing{w, via})
		w.out[via] = c
	}
	h.Aux = uint64(w.self.ID)
	c.Send(fabric.Control, h, body, nil)
}

func (w *worker) sendMessage(to Member, msg Message) {
	if _, beat := msg.(*Beat); !beat {
		w.job.messages++
	}
	b, err := Append(nil, w.job.tamper(msg))
	if err != nil {
		w.job.check.fail("%s sends: %v", w.name(), err)
		return
	}
	w.send(to, fabric.Header{Type: frameMessage}, b)
}

// frame takes a frame.
func (w *worker) frame(c fabric.Conn, from ID, h fabric.Header, body []byte) {
	switch h.Type {
	case frameMessage:
		msg, err := Decode(body)
		if err != nil {
			w.job.check.fail("%s gets from %d: %v", w.name(), from, err)
			return
		}
		if _, beat := msg.(*Beat); !beat && w.job.trace != nil {
			w.job.log(w.name(), "gets from %d %s", from, names(nil).message(msg))
		}
		w.job.check.message(w, msg)
		switch msg.(type) {
		case *Reconcile, *Accept:
			w.job.round(w, msg)
		}
		if w.ended {
			return
		}
		w.handle(Received{from, msg})
	case frameGive, frameMean:
		w.data(from, h, body)
	case frameJoin:
		for _, o := range w.job.workers {
			if o.self.ID == from && !o.ended {
				w.handle(Wish{Join: []Member{o.self}})
			}
		}
	case frameFetch:
		w.serve(from)
	case frameState:
		w.restore(h, body)
	}
}

// handle gives an event to the machine and carries out what it wants.
func (w *worker) handle(e Event) {
	if w.ended || w.job.check.err != nil {
		return
	}
	if w.job.trace != nil {
		switch e := e.(type) {
		case Received, Tick:
		case Answer:
			w.job.log(w.name(), "is answered %s %v", names(nil).change(e.Change), e.Err)
		default:
			w.job.log(w.name(), "%T %v", e, e)
		}
	}
	// Actions may lead to further events; those wait for the end of the list.
	actions := slices.Clone(w.m.Handle(w.host.Now(), e))
	var then []func()
	for _, a := range actions {
		switch a := a.(type) {
		case Send:
			w.sendMessage(a.To, a.Message)
		case SetTimer:
			if w.timer != nil {
				w.timer.Stop()
				w.timer = nil
			}
			if !a.At.IsZero() {
				w.timer = w.host.AfterFunc(a.At.Sub(w.host.Now()), func() { w.handle(Tick{}) })
			}
		case Cancel:
			w.job.log(w.name(), "cancels epoch %d", a.Epoch)
			w.live = false
			w.job.cancelled(w)
		case Ask:
			w.ask(a)
		case Commit:
			if w.job.bare {
				continue
			}
			if w.m.ring.frozen || w.m.View().Epoch != a.Epoch || w.m.ended {
				w.job.check.stats.ByChange++
			}
			w.committed(a)
			then = append(then, w.begin)
		case Install:
			if w.job.bare {
				w.job.check.view(w, a.View)
				continue
			}
			w.installed(a)
			then = append(then, w.resume)
		case Fenced:
			w.job.log(w.name(), "is fenced: epoch %d, left: %t", a.Epoch, a.Left)
			if a.Left && !w.leaving {
				w.job.check.fail("%s has left without the wish to", w.name())
			}
			w.left = a.Left
			if !a.Left {
				w.job.check.stats.Fenced++
			}
			w.stop()
			if !a.Left {
				w.host.AfterFunc(w.job.between(0, 50*time.Millisecond), func() { w.job.newWorker(w.self.Name).start(nil) })
			}
			return
		case Stalled:
			w.stalled = a.Reason
			if a.Reason != "" {
				w.job.check.stats.Stalled++
			}
			w.job.log(w.name(), "stalled: %s", a.Reason)
		case Failed:
			w.job.check.fail("%s failed: %v", w.name(), a.Err)
			return
		}
	}
	for _, f := range then {
		f()
	}
}

// tamper changes what a worker says, for jobs that do something wrong on purpose.
func (j *job) tamper(msg Message) Message {
	r, is := msg.(*Reconcile)
	if !is || j.sabotage != "retry" {
		return msg
	}
	changed := *r
	changed.Last = nil
	changed.Votes = slices.Clone(r.Votes)
	for i := range changed.Votes {
		changed.Votes[i].Prepared = false
	}
	return &changed
}
