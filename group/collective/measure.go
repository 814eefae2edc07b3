package collective

import "context"

// measured are the sizes in bytes, for each member, of the vectors that Measure sends around, and rounds how often
// each; the first round warms up.
var measured = []int{64, 16 << 10, 256 << 10}

const rounds = 4

// Measure finds the model of this view by sending vectors around the ring, and makes it the engine's. All members
// call it at the same time, and all get the same model, which later calls choose by. Done is called once and must
// not block.
func (e *Engine) Measure(done func(Model, error)) {
	if e.cfg.Size == 1 {
		done(e.cfg.Model, nil)
		return
	}
	m := &measurement{e: e, done: done, best: make([]float64, len(measured))}
	m.next()
}

// measurement is a Measure under way.
type measurement struct {
	e           *Engine
	done        func(Model, error)
	size, round int       // of the exchange under way
	best        []float64 // seconds of each size
}

// start starts a call, or ends the measurement.
func (m *measurement) start(r Request) {
	then := r.Done
	r.Name = "millrace.measure"
	r.Done = func(err error) {
		if err != nil {
			m.done(Model{}, err)
			return
		}
		then(nil)
	}
	if _, err := m.e.Start(r); err != nil {
		m.done(Model{}, err)
	}
}

// next makes the next exchange.
func (m *measurement) next() {
	if m.size == len(measured) {
		m.agree()
		return
	}
	began := m.e.cfg.Clock.Now()
	x := make([]byte, measured[m.size]*m.e.cfg.Size)
	m.start(Request{Kind: AllReduce, Op: Max, Dst: Of(x), Algorithm: Ring, Done: func(error) {
		took := m.e.cfg.Clock.Now().Sub(began).Seconds()
		if best := &m.best[m.size]; m.round == 1 || m.round > 1 && took < *best {
			*best = took
		}
		if m.round++; m.round == rounds {
			m.size, m.round = m.size+1, 0
		}
		m.next()
	}})
}

// agree makes the mean of what the members found their common model.
func (m *measurement) agree() {
	n := float64(m.e.cfg.Size)
	var samples []Sample
	for i, s := range m.best {
		samples = append(samples, Sample{Hops: 2 * (n - 1), Bytes: 2 * (n - 1) * float64(measured[i]), Seconds: s})
	}
	own, err := Fit(samples)
	if err != nil {
		own = m.e.cfg.Model // the others wait for this member's numbers
	}
	x := []float64{own.Alpha, own.Beta}
	m.start(Request{Kind: AllReduce, Op: Mean, Dst: Of(x), Algorithm: Star, Done: func(error) {
		model := Model{Alpha: x[0], Beta: x[1]}
		m.e.SetModel(model)
		m.done(model, nil)
	}})
}

// Run starts a call and waits for it. If ctx ends first, the call is given up on all members; its buffers may
// then still be in use: see Call.Released.
func (e *Engine) Run(ctx context.Context, r Request) error {
	c, err := e.Start(r)
	if err != nil {
		return err
	}
	return c.Wait(ctx)
}
