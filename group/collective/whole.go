package collective

import (
	"fmt"
	"sync"

	"millrace.dev/fabric"
	"millrace.dev/group/internal/vec"
	"millrace.dev/group/reduce"
)

// NewReducer makes the reducer that suits a view and a vector: a Step, or, where a vector is so short that hops cost
// more than bytes, one that reduces it as a whole by the algorithm that Choose picks. The model must be the same
// on all members; zero is DefaultModel.
func NewReducer(cfg StepConfig, clock fabric.Clock, m Model) (reduce.Reducer, Choice, error) {
	if m == (Model{}) {
		m = DefaultModel
	}
	c := Choose(AllReduce, max(1, cfg.Size), 4*len(cfg.Gradients), m, false)
	if cfg.Size <= 2 || len(cfg.Gradients) > reduce.Chunk || c.Algorithm == Ring {
		c.Algorithm = Ring // two members exchange halves of each chunk, as with any other algorithm
		s, err := NewStep(cfg)
		return s, c, err
	}
	w, err := newWhole(cfg, clock, c.Algorithm)
	return w, c, err
}

// whole reduces the steps of one view, each as one weighted mean, when all gradients are ready.
type whole struct {
	cfg       StepConfig
	algorithm Algorithm
	engine    *Engine

	mu      sync.Mutex
	err     error // of Cancel
	running bool
	call    *Call
	step    uint64
	m       uint64
	ready   int // elements
	done    func(reduce.Facts, error)
}

var _ reduce.Reducer = (*whole)(nil)

// typeShift is what lies between the types of an engine's frames and those of a reducer's.
const typeShift = FirstType - reduce.FirstType

func newWhole(cfg StepConfig, clock fabric.Clock, a Algorithm) (*whole, error) {
	if len(cfg.Gradients) != len(cfg.Result) || len(cfg.Gradients) == 0 {
		return nil, fmt.Errorf("collective: %d gradients but %d results", len(cfg.Gradients), len(cfg.Result))
	}
	send := func(to int, p fabric.Priority, h fabric.Header, body []byte, done func(error)) {
		h.Type -= typeShift
		cfg.Send(to, p, h, body, done)
	}
	e, err := New(Config{Epoch: cfg.Epoch, Rank: cfg.Rank, Size: cfg.Size, Send: send, Clock: clock})
	return &whole{cfg: cfg, algorithm: a, engine: e}, err
}

// stepName is that of the calls that reduce steps; a call's number is its step's.
const stepName = "millrace.step"

// Algorithm is the one that was chosen.
func (w *whole) Algorithm() reduce.Algorithm { return summingAs[w.algorithm] }

// Begin starts a step.
func (w *whole) Begin(step, m uint64, done func(reduce.Facts, error)) {
	w.mu.Lock()
	err := w.err
	if err == nil && w.running {
		err = errRunning
	}
	if err == nil {
		w.step, w.m, w.done, w.running, w.ready, w.call = step, m, done, true, 0, nil
	}
	w.mu.Unlock()
	if err != nil {
		done(reduce.Facts{}, err)
	}
}

// Ready takes gradients of the step.
func (w *whole) Ready(lo, hi int) {
	w.mu.Lock()
	if !w.running || w.err != nil || lo >= hi {
		w.mu.Unlock()
		return
	}
	w.ready += hi - lo
	switch all := len(w.cfg.Gradients); {
	case lo < 0 || hi > all || w.ready > all:
		w.end(fmt.Errorf("collective: gradients [%d, %d) of %d are ready, or ready again", lo, hi, all))
		return
	case w.ready < all:
		w.mu.Unlock()
		return
	}
	step, m := w.step, w.m
	w.mu.Unlock()

	w.engine.number(stepName, uint32(step))
	c, err := w.engine.Start(Request{Name: stepName, Kind: AllReduce, Op: WeightedMean, Src: Of(w.cfg.Gradients), Dst: Of(w.cfg.Result),
		Weight: m, Algorithm: w.algorithm, released: w.over})
	w.mu.Lock()
	if err != nil {
		w.end(err)
		return
	}
	if w.running && w.step == step {
		w.call = c
	}
	w.mu.Unlock()
}

// end releases the lock and ends a step that has no call.
func (w *whole) end(err error) {
	done := w.done
	was := w.running
	w.running, w.done = false, nil
	if w.err == nil {
		w.err = err
	}
	w.mu.Unlock()
	if was {
		done(reduce.Facts{}, err)
	}
}

// over is called when nobody uses the vectors any more.
func (w *whole) over(c *Call) {
	f := reduce.Facts{Weight: c.total, Finite: true}
	if c.err == nil {
		f.Finite = vec.Scaled(w.cfg.Result, w.cfg.Result, 1, 1)
	} else {
		f = reduce.Facts{}
	}
	w.mu.Lock()
	done, err := w.done, c.err
	w.running, w.done = false, nil
	if err != nil && w.err == nil {
		w.err = err
	}
	w.mu.Unlock()
	done(f, err)
}

// Cancel ends the use of the view.
func (w *whole) Cancel(err error) {
	w.mu.Lock()
	if w.err == nil {
		w.err = err
	}
	started := w.ready == len(w.cfg.Gradients)
	if w.running && !started {
		w.end(err)
	} else {
		w.mu.Unlock()
	}
	w.engine.Cancel(err)
}

// Body says where the body of a frame goes.
func (w *whole) Body(from int, h fabric.Header) ([]byte, error) {
	h.Type += typeShift
	return w.engine.Body(from, h)
}

// Frame takes a frame.
func (w *whole) Frame(from int, h fabric.Header, body []byte) error {
	h.Type += typeShift
	return w.engine.Frame(from, h, body)
}

// Closed says that nothing comes from a member any more.
func (w *whole) Closed(from int) { w.engine.Closed(from) }

// Waiting says what the step waits for.
func (w *whole) Waiting() (rank int, what string) {
	w.mu.Lock()
	running, ready, c := w.running, w.ready, w.call
	w.mu.Unlock()
	switch {
	case !running:
		return -1, "nothing: no step is being reduced"
	case ready < len(w.cfg.Gradients) || c == nil:
		return -1, fmt.Sprintf("its own gradients: %d of %d elements are ready", ready, len(w.cfg.Gradients))
	}
	if ranks, _ := c.Waiting(); len(ranks) > 0 {
		return ranks[0], "its part of the sum"
	}
	return -1, "its own part of the sum"
}
