package group

import "sync"

// desk is where the loop leaves things for the trainer's goroutine, which alone begins reductions,
// reads stripes of the state and results: so none of that happens while it updates parameters.
type desk struct {
	mu   sync.Mutex
	wake chan struct{}

	err         error
	incarnation int       // a step of an earlier one is void
	turn        *Step     // the next step, once the one before is committed
	plane       *plane    // over which the step under way is to be reduced
	started     *plane    // over which it has begun; the loop hears when it is done with that
	stripes     []*stripe // to be read
	verdict     *verdict  // on the step under way
	arrived     *arrival  // the whole state has come
}

func newDesk() *desk { return &desk{wake: make(chan struct{}, 1)} }

// put changes the desk and wakes the trainer.
func (d *desk) put(change func(d *desk)) {
	d.mu.Lock()
	change(d)
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// withdraw takes a plane off the desk, and says whether the step has begun on it: then its reducer
// will tell when it is done.
func (d *desk) withdraw(p *plane) (begun bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.plane == p {
		d.plane = nil
	}
	return d.started == p
}
