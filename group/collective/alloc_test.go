package collective

import (
	"testing"
	"time"

	"millrace.dev/fabric"
	"millrace.dev/group/reduce"
)

// wire carries frames between receivers in one process, one at a time, and allocates nothing in the steady state.
type wire struct {
	queue fifo[wired]
	to    []receiver
}

type wired struct {
	from, to int
	h        fabric.Header
	body     []byte
	done     func(error)
}

func (w *wire) sender(from int) Sender {
	return func(to int, _ fabric.Priority, h fabric.Header, body []byte, done func(error)) {
		h.Length = uint32(len(body))
		w.queue.push(wired{from, to, h, body, done})
	}
}

func (w *wire) run(t testing.TB) {
	for w.queue.len() > 0 {
		x := *w.queue.at(0)
		w.queue.pop()
		var body []byte
		if len(x.body) > 0 {
			b, err := w.to[x.to].Body(x.from, x.h)
			if err != nil {
				t.Fatal(err)
			}
			copy(b, x.body)
			body = b
		}
		if err := w.to[x.to].Frame(x.from, x.h, body); err != nil {
			t.Fatal(err)
		}
		if x.done != nil {
			x.done(nil)
		}
	}
}

func TestStepAllocatesNothing(t *testing.T) {
	const n = 3
	w := &wire{}
	var steps []*Step
	g, r := make([][]float32, n), make([][]float32, n)
	for rank := range n {
		g[rank], r[rank] = make([]float32, 3*reduce.Chunk), make([]float32, 3*reduce.Chunk)
		s, err := NewStep(StepConfig{Rank: rank, Size: n, Gradients: g[rank], Result: r[rank], Send: w.sender(rank)})
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, s)
		w.to = append(w.to, s)
	}
	step, ends := uint64(0), 0
	done := func(reduce.Facts, error) { ends++ }
	once := func() {
		step++
		for _, s := range steps {
			s.Begin(step, 1, done)
			s.Ready(0, len(g[0]))
		}
		w.run(t)
	}
	once()
	if a := testing.AllocsPerRun(5, once); a != 0 {
		t.Errorf("a step allocates %v times", a)
	}
	if ends != n*int(step) {
		t.Fatalf("%d of %d steps ended", ends, n*int(step))
	}
}

func TestCallsAllocateLittle(t *testing.T) {
	const n = 3
	w := &wire{}
	var engines []*Engine
	var x []Buffer
	for rank := range n {
		e, err := New(Config{Rank: rank, Size: n, Send: w.sender(rank), Clock: stopped{}})
		if err != nil {
			t.Fatal(err)
		}
		engines, x = append(engines, e), append(x, Of(make([]float32, 1<<20)))
		w.to = append(w.to, e)
	}
	ends := 0
	done := func(err error) {
		if err == nil {
			ends++
		}
	}
	for _, a := range []Algorithm{Ring, HalvingDoubling} {
		once := func() {
			for rank, e := range engines {
				if _, err := e.Start(Request{Name: "x", Kind: AllReduce, Op: Sum, Dst: x[rank], Algorithm: a, Done: done}); err != nil {
					t.Fatal(err)
				}
			}
			w.run(t)
		}
		once()
		before := ends
		per := testing.AllocsPerRun(5, once) / n
		if ends-before != 6*n {
			t.Fatalf("%d calls ended", ends-before)
		}
		if per > 6 { // the call, its channels, and lists of it; not its slices, of which each member handles dozens
			t.Errorf("%v: a call allocates %v times on each member", a, per)
		}
	}
}

// stopped is a clock that does not go on.
type stopped struct{}

func (stopped) Now() time.Time                               { return time.Time{} }
func (stopped) AfterFunc(time.Duration, func()) fabric.Timer { return nil }
