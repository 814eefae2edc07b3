package group

import (
	"fmt"

	"millrace.dev/fabric"
	"millrace.dev/group/collective"
	"millrace.dev/group/reduce"
)

// plane moves the data of one view.
type plane struct {
	epoch    uint64
	ranks    map[ID]int
	reducer  reduce.Reducer
	engine   *collective.Engine // of the named calls
	reason   string             // why this reducer
	expected float64            // seconds that it should take, 0 where no model says
	prepare  func() error       // before a step begins on it, on the trainer's goroutine
	release  func() error       // frees what belongs to the view; after the last use

	canceled bool // of the loop
}

// epochOf is 0 for no plane.
func (p *plane) epochOf() uint64 {
	if p == nil {
		return 0
	}
	return p.epoch
}

func (p *plane) rank(from ID) (int, error) {
	rank, member := p.ranks[from]
	if !member {
		return 0, fmt.Errorf("it is not a member of epoch %d", p.epoch)
	}
	return rank, nil
}

func (p *plane) body(from ID, h fabric.Header) ([]byte, error) {
	rank, err := p.rank(from)
	if err != nil {
		return nil, err
	}
	if callFrame(h.Type) {
		return p.engine.Body(rank, h)
	}
	return p.reducer.Body(rank, h)
}

func (p *plane) frame(from ID, h fabric.Header, body []byte) error {
	rank, err := p.rank(from)
	if err != nil {
		return err
	}
	if callFrame(h.Type) {
		return p.engine.Frame(rank, h, body)
	}
	return p.reducer.Frame(rank, h, body)
}

// deliver takes a frame whose body lies elsewhere.
func (p *plane) deliver(from ID, h fabric.Header, body []byte) error {
	if h.Length > 0 {
		place, err := p.body(from, h)
		if err != nil {
			return err
		}
		copy(place, body)
		body = place
	}
	return p.frame(from, h, body)
}

func (p *plane) closed(from ID) {
	if p == nil {
		return
	}
	if rank, member := p.ranks[from]; member {
		p.reducer.Closed(rank)
		p.engine.Cancel(&ViewChangedError{Epoch: p.epoch}) // as it will be
		p.engine.Closed(rank)
	}
}
