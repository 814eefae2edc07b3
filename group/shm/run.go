package shm

import (
	"fmt"

	"millrace.dev/group/internal/vec"
	"millrace.dev/group/reduce"
)

// run sums the segments of one step after the other until the team is canceled.
func (t *Team) run() {
	defer close(t.stopped)
	first := firstTag(t.config.Epoch)
	for tag := first; ; tag++ {
		if !t.awaitBegin(tag) {
			t.finish(reduce.Facts{}, t.reason())
			return
		}
		facts, err := t.reduce(tag)
		t.results = t.results || err == nil
		if err != nil {
			t.Cancel(err)
		}
		t.finish(facts, err)
		if tag == first+1 { // not sooner: somebody may wait for the step before, as the first after a death
			t.stock.tend(newLayout(t.layout.elements, t.layout.page, max(2, t.layout.n-1)).shareBytes(), t.vectors)
		}
	}
}

// awaitBegin waits until the step with a tag has begun, or reports false when the team is canceled.
func (t *Team) awaitBegin(tag uint64) bool {
	for {
		t.mu.Lock()
		begun, canceled := t.tag == tag, t.err != nil
		t.mu.Unlock()
		if begun || canceled {
			return begun && !canceled
		}
		t.wait()
	}
}

func (t *Team) reason() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// finish tells the step under way, if there is one, how it ended.
func (t *Team) finish(facts reduce.Facts, err error) {
	t.mu.Lock()
	done := t.done
	t.done = nil
	t.mu.Unlock()
	if done != nil {
		done(facts, err)
	}
}

// wait waits until something may be possible, or the team is canceled.
func (t *Team) wait() {
	select {
	case <-t.poke:
	case <-t.canceled:
	}
}

// stop says why the step under way cannot go on, nil if it can.
func (t *Team) stop() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return t.err
	}
	return t.bad
}

// reduce does this member's part of a step and waits for the others' parts.
func (t *Team) reduce(tag uint64) (reduce.Facts, error) {
	if err := t.config.Mean.show(t); err != nil {
		return reduce.Facts{}, err
	}
	own := t.boards[t.config.Rank]
	t.open = t.open[:0]
	for block := range t.layout.blocks() {
		t.open = append(t.open, block)
	}
	t.facts = reduce.Facts{Finite: true}
	known := false // who contributes
	for len(t.open) > 0 {
		if err := t.stop(); err != nil {
			return reduce.Facts{}, err
		}
		t.announce()
		before := len(t.open)
		for i := 0; i < len(t.open); i++ {
			if !t.readyEverywhere(t.open[i], tag) {
				continue
			}
			if !known {
				if err := t.contributors(tag); err != nil {
					return reduce.Facts{}, err
				}
				known = true
			}
			t.announce()
			if err := t.sum(t.open[i]); err != nil {
				return reduce.Facts{}, err
			}
			t.open[i] = -1
		}
		t.forgetDone()
		if len(t.open) == before {
			t.sleep(wantReady, func() bool { return t.anyReady(tag) })
		}
	}
	own.markDone(tag, t.facts.Finite)
	if done, _ := t.doneEverywhere(tag); done {
		t.wakeSleepers(wantDone)
	}
	for {
		t.announce() // Ready may come to it after the block has been summed
		done, finite := t.doneEverywhere(tag)
		if done {
			t.facts.Finite = finite
			return t.facts, nil
		}
		if err := t.stop(); err != nil {
			return reduce.Facts{}, err
		}
		t.sleep(wantDone, func() bool { done, _ := t.doneEverywhere(tag); return done })
	}
}

// announce wakes the members that sleep until a block is ready everywhere, if this one has completed some: once for
// all of them.
func (t *Team) announce() {
	if t.news.Load() {
		t.news.Store(false)
		t.wakeSleepers(wantReady)
	}
}

// sleep waits until another member has reason to wake this one, or this member itself.
func (t *Team) sleep(w want, possible func() bool) {
	own := t.boards[t.config.Rank]
	own.sleep(w)
	if !possible() {
		t.wait()
	}
	own.sleep(wantNothing)
}

func (t *Team) anyReady(tag uint64) bool {
	for _, block := range t.open {
		if t.readyEverywhere(block, tag) {
			return true
		}
	}
	return false
}

// forgetDone drops the blocks that sum has been through, marked by -1.
func (t *Team) forgetDone() {
	kept := t.open[:0]
	for _, block := range t.open {
		if block >= 0 {
			kept = append(kept, block)
		}
	}
	t.open = kept
}

// contributors finds the weights of a step that has begun everywhere.
func (t *Team) contributors(tag uint64) error {
	own := t.boards[t.config.Rank].step(tag)
	for rank, b := range t.boards {
		if step := b.step(tag); step != own {
			return &MismatchError{rank, fmt.Sprintf("reduces step %d, this member step %d", step, own)}
		}
		weight := b.weight(tag)
		t.facts.Weight += weight
		t.weights[rank] = float32(weight)
	}
	return nil
}

// stripe is the number of elements that are summed in one go: a step that is canceled ends after one.
const stripe = 8192

// sum computes this member's segment of a block.
func (t *Team) sum(block int) error {
	lo, hi := t.layout.segment(block, t.config.Rank)
	to := floats(t.share.mem[t.layout.slotAt(block):])
	scale := reduce.Scale(t.facts.Weight)
	for at := lo; at < hi; at += stripe {
		if err := t.stop(); err != nil {
			return err
		}
		end := min(at+stripe, hi)
		for rank, g := range t.g {
			t.parts[rank] = g[at:end]
		}
		t.facts.Finite = vec.Mean(to[at-lo:end-lo], t.parts, t.weights, scale) && t.facts.Finite
	}
	return nil
}
