package protocol

import (
	"cmp"
	"encoding/binary"
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
	seed      uint64
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
	early   []early1
	live    bool // data may flow in this epoch
}

const chunks = 3

type model [chunks]int64

// reduction is a step under way at one worker.
type reduction struct {
	number   uint64
	computed bool
	gradient model // kept until the step is committed
	weight   uint64
	finite   bool
	hash     uint64
	// What follows is of one epoch.
	given [chunks]map[ID]give // for chunks that this worker owns
	mean  [chunks]*mean
}

// give is a chunk of one member's gradient.
type give struct {
	value  int64
	weight uint64
	finite bool
}

// mean is a reduced chunk.
type mean struct {
	sum    int64
	weight uint64
	finite bool
	from   []ID // contributors
}

// applied is a step as it is to be applied.
type applied struct {
	result *Result
	mean   [chunks]*mean
}

// early1 is a frame that came before its epoch or step had begun here.
type early1 struct {
	from ID
	h    fabric.Header
	body []byte
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
		o.w.handle(SendFailed{o.to.to})
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

// ask asks the authority; no answer in time is one that leaves open what happened.
func (w *worker) ask(a Ask) {
	w.asked++
	n := w.asked
	w.job.log(w.name(), "asks for %s", names(nil).change(a.Change))
	if w.service == nil {
		w.service = w.host.Dial("sim:authority", &answers{w})
	}
	w.service.Send(fabric.Control, fabric.Header{Type: frameAsk, Epoch: a.Epoch, Step: uint64(n), Aux: uint64(w.self.ID)},
		AppendChange(nil, a.Change, a.View), nil)
	w.host.AfterFunc(askTimeout, func() {
		if w.asked == n {
			w.handle(Answer{Epoch: a.Epoch, Err: errors.New("no answer in time")})
		}
	})
}

type answers struct{ w *worker }

func (a *answers) Body(_ fabric.Conn, h fabric.Header) ([]byte, error) {
	return make([]byte, h.Length), nil
}

func (a *answers) Frame(_ fabric.Conn, h fabric.Header, body []byte) error {
	c, _, err := DecodeChange(body)
	if err == nil && !a.w.ended {
		if a.w.asked > int(h.Step) {
			a.w.job.check.stats.Late++
		}
		a.w.asked++
		a.w.handle(Answer{Epoch: h.Epoch, Change: c})
	}
	return err
}

func (a *answers) Closed(c fabric.Conn, err error) {
	if a.w.service == c {
		a.w.service = nil
	}
	if !a.w.ended && a.w.job.authority == Service {
		a.w.handle(Answer{Epoch: a.w.m.View().Epoch, Err: err})
	}
}

// register is the authority of a job: the last change, changed by compare-and-swap. It outlives the
// process that serves it.
type register struct {
	job   *job
	epoch uint64
	last  []byte
	up    bool
}

// serve starts a process for the register.
func (r *register) serve() {
	r.up = true
	host := r.job.world.Host("authority")
	if _, err := host.Listen("sim:authority", func(fabric.Conn) (fabric.Handler, error) { return r, nil }); err != nil {
		panic(err)
	}
}

func (r *register) Body(_ fabric.Conn, h fabric.Header) ([]byte, error) {
	return make([]byte, h.Length), nil
}

func (r *register) Frame(c fabric.Conn, h fabric.Header, body []byte) error {
	if h.Epoch == r.epoch || r.job.sabotage == "forget" {
		r.epoch, r.last = h.Epoch+1, body
		r.job.log("auth", "takes what %d asks for epoch %d", h.Aux, r.epoch)
	}
	c.Send(fabric.Control, fabric.Header{Type: frameAnswer, Epoch: h.Epoch, Step: h.Step}, r.last, nil)
	return nil
}

func (r *register) Closed(fabric.Conn, error) {}

// committed applies a step.
func (w *worker) committed(c Commit) {
	a := applied{result: c.Result, mean: w.step.mean}
	w.job.log(w.name(), "commits step %d of epoch %d: weight %d, finite %t, %d records", c.Step, c.Epoch, c.Facts.Weight, c.Facts.Finite, len(c.Records))
	if c.Step != w.step.number {
		w.job.check.fail("%s commits step %d in step %d", w.name(), c.Step, w.step.number)
		return
	}
	for k, m := range a.mean {
		if m == nil {
			w.job.check.fail("%s commits step %d without chunk %d", w.name(), c.Step, k)
			return
		}
	}
	w.job.check.result(w, c)
	if !w.has {
		w.backlog = append(w.backlog, a)
		return
	}
	w.apply(a)
}

// apply updates the model with a step.
func (w *worker) apply(a applied) {
	shares := w.ledger.Assign(w.job.samples, w.job.batch, w.assign)
	from := a.mean[0].from
	before := w.ledger
	w.ledger = w.ledger.Commit(w.job.samples, shares, func(id uint64) bool { return slices.Contains(from, ID(id)) })
	if (Commit{a.result}).Outcome() == Apply {
		for k := range w.theta {
			w.theta[k] = update(w.theta[k], a.mean[k].sum, a.result.Facts.Weight)
		}
	}
	w.assign = w.assign[:0:0]
	for _, id := range a.result.Ready() {
		w.assign = append(w.assign, uint64(id))
	}
	w.job.check.applied(w, a, before, shares)
}

func update(theta, sum int64, weight uint64) int64 { return theta*31 + sum/int64(weight) + 1 }

// sampleGradient is what one sample adds to a chunk of the gradient.
func sampleGradient(epoch, position uint64, chunk int, theta int64) (value int64, finite bool) {
	h := (epoch*1_000_003+position+1)*0x9e3779b97f4a7c15 + uint64(theta)*0xbf58476d1ce4e5b9 + uint64(chunk)
	h ^= h >> 31
	h *= 0x94d049bb133111eb
	return int64(h>>44) - 1<<19, h%997 != 0
}

func hashOf(theta model) uint64 {
	h := uint64(14695981039346656037)
	for _, t := range theta {
		h = (h ^ uint64(t)) * 1099511628211
	}
	return h | 1
}

// begin starts the computation of the next step.
func (w *worker) begin() {
	if w.ended {
		return
	}
	w.step = reduction{number: w.m.Committed() + 1, finite: true}
	w.compute()
	w.takeEarly()
}

// compute takes its time, then the gradient is kept and given away.
func (w *worker) compute() {
	number := w.step.number
	took := w.job.between(5*time.Millisecond, 40*time.Millisecond) * time.Duration(w.slow)
	w.host.AfterFunc(took, func() {
		if w.ended || w.step.number != number || w.step.computed {
			return
		}
		w.step.computed = true
		if w.has {
			w.step.hash = hashOf(w.theta)
			for _, s := range w.ledger.Assign(w.job.samples, w.job.batch, w.assign) {
				if ID(s.Member) == w.self.ID {
					w.step.weight = s.Len()
					w.step.gradient, w.step.finite = gradient(w.ledger.Epoch, s.Ranges, w.theta)
				}
			}
		}
		w.give()
	})
}

func gradient(epoch uint64, ranges []ledger.Range, theta model) (g model, finite bool) {
	finite = true
	for _, r := range ranges {
		for p := r.Lo; p < r.Hi; p++ {
			for k := range g {
				v, ok := sampleGradient(epoch, p, k, theta[k])
				g[k] += v
				finite = finite && ok
			}
		}
	}
	return g, finite
}

// give sends each chunk of the gradient to its owner.
func (w *worker) give() {
	if !w.live || !w.step.computed {
		return
	}
	view := w.m.View()
	for k := range chunks {
		owner := view.Members[k%len(view.Members)]
		b := binary.LittleEndian.AppendUint64(nil, uint64(w.step.gradient[k]))
		b = binary.LittleEndian.AppendUint64(b, w.step.weight)
		b = append(b, bit(w.step.finite))
		w.dataTo(owner, fabric.Header{Type: frameGive, Epoch: view.Epoch, Step: w.step.number, Chunk: uint32(k)}, b)
	}
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func (w *worker) dataTo(to Member, h fabric.Header, b []byte) {
	if to.ID == w.self.ID {
		w.data(w.self.ID, h, b)
		return
	}
	w.send(to, h, b)
}

// data takes a chunk, or keeps it for later, or drops what is too late.
func (w *worker) data(from ID, h fabric.Header, body []byte) {
	view := w.m.View()
	if h.Epoch > view.Epoch || h.Epoch == view.Epoch && h.Step > w.step.number {
		w.early = append(w.early, early1{from, h, body})
		return
	}
	stale := h.Epoch < view.Epoch && w.job.sabotage != "stale"
	if stale || h.Step < w.step.number || !w.live || w.ended {
		return
	}
	k := h.Chunk
	if h.Type == frameMean {
		m := &mean{sum: int64(binary.LittleEndian.Uint64(body)), weight: binary.LittleEndian.Uint64(body[8:]), finite: body[16] == 1}
		for b := body[17:]; len(b) > 0; b = b[8:] {
			m.from = append(m.from, ID(binary.LittleEndian.Uint64(b)))
		}
		w.step.mean[k] = m
		w.reduced()
		return
	}
	if w.step.given[k] == nil {
		w.step.given[k] = map[ID]give{}
	}
	w.step.given[k][from] = give{int64(binary.LittleEndian.Uint64(body)), binary.LittleEndian.Uint64(body[8:]), body[16] == 1}
	sum := mean{finite: true}
	for _, m := range view.Members {
		g, there := w.step.given[k][m.ID]
		if !there {
			return
		}
		if g.weight > 0 {
			sum.sum, sum.weight = sum.sum+g.value, sum.weight+g.weight
			sum.from = append(sum.from, m.ID)
		}
		sum.finite = sum.finite && g.finite
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(sum.sum))
	b = binary.LittleEndian.AppendUint64(b, sum.weight)
	b = append(b, bit(sum.finite))
	for _, id := range sum.from {
		b = binary.LittleEndian.AppendUint64(b, uint64(id))
	}
	for _, m := range view.Members {
		w.dataTo(m, fabric.Header{Type: frameMean, Epoch: view.Epoch, Step: w.step.number, Chunk: k}, b)
	}
}

// reduced tells the machine once all chunks are there.
func (w *worker) reduced() {
	finite := true
	for _, m := range w.step.mean {
		if m == nil {
			return
		}
		finite = finite && m.finite
	}
	first := w.step.mean[0]
	for k, m := range w.step.mean {
		if m.weight != first.weight || !slices.Equal(m.from, first.from) {
			w.job.check.fail("%s: step %d has chunk 0 of %v (weight %d) and chunk %d of %v (weight %d)",
				w.name(), w.step.number, first.from, first.weight, k, m.from, m.weight)
			return
		}
	}
	w.handle(Prepared{Epoch: w.m.View().Epoch, Step: w.step.number, Facts: Facts{first.weight, finite},
		Record: Record{Samples: w.step.weight, Loss: float64(w.self.ID), Finite: w.step.finite, Hash: w.step.hash, Ready: w.has && !w.leaving}})
}

// installed takes a view. Everything that was reduced over the one before is void.
func (w *worker) installed(a Install) {
	w.job.log(w.name(), "installs epoch %d: %s after step %d", a.View.Epoch, names(nil).members(a.View.Members), a.Change.Committed)
	if w.step.number > a.Change.Committed && w.step.computed {
		w.job.check.stats.Retries++
	}
	w.job.check.view(w, a.View)
	w.hear()
	w.live = true
	if w.job.sabotage != "stale" {
		w.step.given, w.step.mean = [chunks]map[ID]give{}, [chunks]*mean{}
	}
	if a.First {
		w.step = reduction{number: a.Change.Committed + 1, finite: true, computed: true}
	}
}

func (w *worker) resume() {
	if w.ended || !w.live {
		return
	}
	if !w.has {
		w.fetch()
	}
	w.give()
	w.takeEarly()
}

func (w *worker) takeEarly() {
	early := w.early
	w.early = nil
	for _, e := range early {
		if !w.ended {
			w.data(e.from, e.h, e.body)
		}
	}
}

// fetch asks a member for the state.
func (w *worker) fetch() {
	members := w.m.View().Members
	if o := members[w.job.random.IntN(len(members))]; o.ID != w.self.ID {
		w.send(o, fabric.Header{Type: frameFetch}, nil)
	}
}

// serve gives a joiner the state.
func (w *worker) serve(to ID) {
	if !w.has || !w.m.View().Has(to) {
		return
	}
	b := []byte{byte(len(w.assign))}
	for _, id := range w.assign {
		b = binary.LittleEndian.AppendUint64(b, id)
	}
	for _, t := range w.theta {
		b = binary.LittleEndian.AppendUint64(b, uint64(t))
	}
	w.send(w.m.View().Members[w.m.View().Rank(to)], fabric.Header{Type: frameState, Step: w.m.Committed()}, w.ledger.Append(b))
}

// restore takes the state, and applies to it what was committed meanwhile.
func (w *worker) restore(h fabric.Header, body []byte) {
	if w.has || w.m.View().Epoch == 0 {
		return
	}
	if h.Step > w.m.Committed() { // its own commit is under way
		return
	}
	n := int(body[0])
	body = body[1:]
	w.assign = nil
	for range n {
		w.assign = append(w.assign, binary.LittleEndian.Uint64(body))
		body = body[8:]
	}
	for k := range w.theta {
		w.theta[k] = int64(binary.LittleEndian.Uint64(body))
		body = body[8:]
	}
	var err error
	if w.ledger, err = ledger.Decode(body); err != nil {
		w.job.check.fail("%s restores: %v", w.name(), err)
		return
	}
	w.has = true
	w.job.log(w.name(), "restores the state after step %d", h.Step)
	for _, a := range w.backlog {
		if a.result.Step > h.Step {
			w.apply(a)
		}
	}
	w.backlog = nil
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
