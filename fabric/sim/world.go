package sim

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"millrace.dev/fabric"
)

// Limits of time, as those of sockets are by default.
const (
	DialTimeout = 5 * time.Second
	UserTimeout = 10 * time.Second
)

// window is the credit of a direction in bytes.
const window = 8 << 20

// Link is how frames pass from one host to another.
type Link struct {
	Min, Max  time.Duration // a frame takes between these
	Loss      float64       // probability that a frame is lost and comes after Retry more
	Retry     time.Duration // 0 is 200 ms
	Reset     float64       // probability that a frame resets its connection
	Bandwidth float64       // bytes per second of one connection and direction; 0 is without limit
}

// Event is something that happened in a world.
type Event struct {
	At       time.Duration // since the beginning
	Kind     string        // "dial", "open", "frame", "credit", "close", "reset", "timeout", "refuse", or the name of a fault
	From, To string        // hosts
	Header   fabric.Header // of a frame
}

// String returns the event as one line.
func (e Event) String() string {
	return fmt.Sprintf("%v %s %s>%s %v", e.At, e.Kind, e.From, e.To, e.Header)
}

// World is a simulated network with its hosts and its time.
type World struct {
	mu      sync.Mutex
	start   time.Time
	now     time.Duration
	events  events
	n       uint64 // events so far
	random  *rand.Rand
	link    Link
	links   map[[2]string]Link
	hosts   map[string]*Host
	born    uint64         // hosts so far
	group   map[string]int // side of a partition
	stalled []*conn        // connections with frames that a partition holds
	watch   func(Event)
	digest  uint64
}

var _ fabric.Clock = (*World)(nil)

// New returns a world in which all links are alike.
func New(seed uint64, link Link) *World {
	return &World{
		start:  time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC),
		random: rand.New(rand.NewPCG(seed, 0x73696d)),
		link:   link,
		links:  map[[2]string]Link{},
		hosts:  map[string]*Host{},
	}
}

// event is a call that is to come.
type event struct {
	at    time.Duration
	n     uint64 // order among those at one time
	host  *Host  // nil: of the world
	call  func() // nil once stopped or done
	place int    // in the heap
}

type events []*event

func (q events) Len() int { return len(q) }
func (q events) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].n < q[j].n
}
func (q events) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}
func (q *events) Push(x any) {
	e := x.(*event)
	e.place = len(*q)
	*q = append(*q, e)
}
func (q *events) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	e.place = -1
	return e
}

// after plans a call, of a host if that is not nil.
func (w *World) after(d time.Duration, host *Host, call func()) *event {
	w.n++
	e := &event{at: w.now + max(d, 0), n: w.n, host: host, call: call}
	heap.Push(&w.events, e)
	return e
}

// Now implements fabric.Clock.
func (w *World) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.start.Add(w.now)
}

// AfterFunc implements fabric.Clock. The call belongs to no host: no fault stops it.
func (w *World) AfterFunc(d time.Duration, f func()) fabric.Timer {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &timer{w, w.after(d, nil, f)}
}

// timer implements fabric.Timer.
type timer struct {
	world *World
	e     *event
}

func (t *timer) Stop() bool {
	t.world.mu.Lock()
	defer t.world.mu.Unlock()
	if t.e.call == nil {
		return false
	}
	t.e.call = nil
	if t.e.place >= 0 {
		heap.Remove(&t.world.events, t.e.place)
	}
	return true
}

// Run lets a span of virtual time pass.
func (w *World) Run(span time.Duration) {
	w.RunUntil(func() bool { return false }, span)
}

// RunUntil lets virtual time pass until done holds, which it asks before each
// event, or the span is over. It reports which.
func (w *World) RunUntil(done func() bool, span time.Duration) bool {
	w.mu.Lock()
	end := w.now + span
	w.mu.Unlock()
	for !done() {
		call, more := w.next(end)
		if !more {
			return done()
		}
		if call != nil {
			call()
		}
	}
	return true
}

// next takes the next event up to a time, and makes that the time. The call is
// nil if the event's host is not there for it.
func (w *World) next(end time.Duration) (call func(), more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.events) == 0 || w.events[0].at > end {
		w.now = end
		return nil, false
	}
	e := heap.Pop(&w.events).(*event)
	w.now = e.at
	if e.host != nil && e.host.state == frozen {
		e.host.deferred = append(e.host.deferred, e)
		return nil, true
	}
	call, e.call = e.call, nil
	if e.host != nil && e.host.state == gone {
		return nil, true
	}
	return call, true
}

// Watch calls f at each event, from then on. It must not call the world.
func (w *World) Watch(f func(Event)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watch = f
}

// Digest returns a hash of all events so far: two runs with the same digest
// went the same way.
func (w *World) Digest() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.digest
}

// record notes an event.
func (w *World) record(kind string, from, to *Host, h fabric.Header) {
	for _, v := range [...]uint64{
		uint64(w.now), uint64(kind[0])<<8 | uint64(len(kind)), from.number, to.number,
		uint64(h.Type)<<8 | uint64(h.Flags), h.Epoch, h.Step, h.Aux, uint64(h.Bucket)<<32 | uint64(h.Chunk), uint64(h.Length),
	} {
		w.digest = (w.digest ^ v) * 0x9e3779b97f4a7c15
		w.digest ^= w.digest >> 29
	}
	if w.watch != nil {
		w.watch(Event{At: w.now, Kind: kind, From: from.name, To: to.name, Header: h})
	}
}

// SetLink sets how frames pass from one host to another, in this direction.
func (w *World) SetLink(from, to string, link Link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.links[[2]string{from, to}] = link
}

func (w *World) linkOf(from, to string) Link {
	if link, set := w.links[[2]string{from, to}]; set {
		return link
	}
	return w.link
}

// delay draws how long a frame takes on a link.
func (w *World) delay(link Link) time.Duration {
	d := link.Min
	if link.Max > link.Min {
		d += time.Duration(w.random.Int64N(int64(link.Max - link.Min + 1)))
	}
	retry := link.Retry
	if retry == 0 {
		retry = 200 * time.Millisecond
	}
	for link.Loss > 0 && w.random.Float64() < link.Loss {
		d += retry
	}
	return d
}
