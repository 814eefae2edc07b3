package shm

import (
	"fmt"
	"slices"

	"millrace.dev/group/internal/vec"
	"millrace.dev/group/reduce"
)

// run ends one step after the other until the team is canceled.
func (t *Team) run() {
	defer close(t.stopped)
	first := firstTag(t.config.Epoch)
	for tag := first; ; tag++ {
		facts, err := t.reduce(tag)
		if err != nil {
			t.Cancel(err)
			t.forsake()
			t.finish(facts, err)
			return
		}
		t.results = true
		t.finish(facts, nil)
		if tag == first+1 { // not sooner: somebody may wait for the step before, as the first after a death
			t.stock.tend(newLayout(t.layout.elements, t.layout.page, max(2, t.layout.n-1)).shareBytes(), t.vectors)
		}
	}
}

// forsake gives up what is left to sum once the team is canceled. Afterwards nobody sums any more.
func (t *Team) forsake() {
	t.summing.Lock()
	defer t.summing.Unlock()
	t.open = t.open[:0]
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

// reduce does what is left to do in a step when this member's gradients are complete, and waits for the others' parts.
func (t *Team) reduce(tag uint64) (reduce.Facts, error) {
	if err := t.await(tag); err != nil {
		return reduce.Facts{}, err
	}
	if err := t.config.Mean.show(t); err != nil {
		return reduce.Facts{}, err
	}
	for {
		facts, left, err := t.sumReady(tag)
		if err != nil {
			return reduce.Facts{}, err
		}
		if left == 0 {
			return t.conclude(tag, facts)
		}
		t.sleep(func(b board) int { return t.notReady(b, tag) }, func() bool { return t.anyReady(tag) })
	}
}

// await waits until the gradients of the step with a tag are all there. It returns why the step cannot go on.
func (t *Team) await(tag uint64) error {
	for {
		t.mu.Lock()
		there := t.tag == tag && t.rest == 0
		err := t.err
		t.mu.Unlock()
		if there || err != nil {
			return err
		}
		select {
		case <-t.poke:
		case <-t.canceled:
		}
	}
}

// conclude tells the others that this member's part of the sum is there, and waits for theirs.
func (t *Team) conclude(tag uint64, facts reduce.Facts) (reduce.Facts, error) {
	t.boards[t.config.Rank].markDone(tag, facts.Finite)
	t.marked()
	for {
		done, finite := t.doneEverywhere(tag)
		if done {
			facts.Finite = finite
			return facts, nil
		}
		if err := t.stop(); err != nil {
			return reduce.Facts{}, err
		}
		t.sleep(func(b board) int {
			if done, _ := b.done(tag); done {
				return 0
			}
			return 1
		}, func() bool { done, _ := t.doneEverywhere(tag); return done })
	}
}

// stop says why the step under way cannot go on, nil if it can.
func (t *Team) stop() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// sumReady sums this member's segments of the blocks that have become ready everywhere. It returns how many blocks are
// left, and the facts if there are none. After an error the step ends with that. Ready may come here when the step that it
// was called in is done, as another Ready completed it: then nothing is left.
func (t *Team) sumReady(tag uint64) (facts reduce.Facts, left int, err error) {
	t.summing.Lock()
	defer t.summing.Unlock()
	t.mu.Lock()
	err = t.err
	current := t.tag == tag && t.done != nil
	t.mu.Unlock()
	if err != nil || !current {
		return reduce.Facts{}, 0, err
	}
	for i := 0; i < len(t.open) && err == nil; i++ {
		if t.readyEverywhere(t.open[i], tag) {
			err = t.sum(t.open[i], tag)
			t.open[i] = -1
		}
	}
	t.open = slices.DeleteFunc(t.open, func(block int) bool { return block < 0 })
	if err != nil {
		t.Cancel(err) // before anybody else goes on with the step
	}
	return t.facts, len(t.open), err
}

func (t *Team) anyReady(tag uint64) bool {
	t.summing.Lock()
	defer t.summing.Unlock()
	return slices.ContainsFunc(t.open, func(block int) bool { return t.readyEverywhere(block, tag) })
}

// notReady counts the blocks that a member does not have ready.
func (t *Team) notReady(b board, tag uint64) (count int) {
	for block := range t.layout.blocks() {
		if !b.ready(block, tag) {
			count++
		}
	}
	return count
}

// contributors finds the weights of a step that has begun everywhere, once.
func (t *Team) contributors(tag uint64) error {
	if t.known {
		return nil
	}
	t.known = true
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
func (t *Team) sum(block int, tag uint64) error {
	if err := t.contributors(tag); err != nil {
		return err
	}
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
