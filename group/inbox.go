package group

import "sync"

// inbox is the queue of events of a worker's loop. What fills it is bounded at its source: links by
// the bytes they may have in it, the trainer and timers by having one event each under way.
type inbox struct {
	mu     sync.Mutex
	events []func()
	closed bool
	wake   chan struct{}
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

// post adds an event; it is false, and the event is dropped, once the loop has ended.
func (b *inbox) post(event func()) bool {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return false
	}
	b.events = append(b.events, event)
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
	return true
}

// run calls events one after another until end is called by one of them.
func (b *inbox) run() {
	var batch []func()
	for range b.wake {
		b.mu.Lock()
		batch, b.events = b.events, batch[:0]
		b.mu.Unlock()
		for i, event := range batch {
			event()
			batch[i] = nil
			if b.ended() {
				return
			}
		}
	}
}

func (b *inbox) ended() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// end makes run return after the event that calls it.
func (b *inbox) end() {
	b.mu.Lock()
	b.closed, b.events = true, nil
	b.mu.Unlock()
}
