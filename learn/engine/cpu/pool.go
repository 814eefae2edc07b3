package cpu

import (
	"sync"
	"sync/atomic"
	"time"
)

// spin is how long a worker that has run out of chunks looks for more, and a caller for the end
// of its helpers' last ones, before it sleeps: a wake-up costs about as much.
const spin = 20 * time.Microsecond

// pool runs the chunks of a phase on the calling goroutine and on helpers. One caller at a time
// has the helpers.
type pool struct {
	owner   sync.Mutex
	helpers []*helper
	limit   atomic.Int32 // how many threads may work, the caller's included
	stop    atomic.Bool
	ended   sync.WaitGroup

	// The phase that is running. ticket packs its serial number, its number of chunks and the
	// next one to claim; run may be read by whoever has claimed a chunk, until it reports it done.
	ticket   atomic.Uint64
	finished atomic.Int64
	run      func(worker, chunk int)
	caller   sleeper
	core     atomic.Int32 // the caller's when it last woke a helper
}

// helper is a goroutine of the pool.
type helper struct{ sleeper }

// sleeper lets one goroutine sleep until another wakes it, without loss of wake-ups.
type sleeper struct {
	asleep atomic.Bool
	wake   chan struct{}
}

// sleepUnless sleeps until woken, unless ready holds already.
func (s *sleeper) sleepUnless(ready func() bool) {
	s.asleep.Store(true)
	if ready() && s.asleep.CompareAndSwap(true, false) {
		return
	}
	<-s.wake
}

// rouse wakes the sleeper if it sleeps.
func (s *sleeper) rouse() {
	if s.asleep.Load() && s.asleep.CompareAndSwap(true, false) {
		s.wake <- struct{}{}
	}
}

// summon wakes a helper, which learns where the caller runs.
func (p *pool) summon(h *helper) {
	if h.asleep.Load() {
		p.core.Store(int32(coreNow()))
		h.rouse()
	}
}

// A ticket is serial<<40 | chunks<<20 | next.
const (
	ticketBits = 20
	ticketMask = 1<<ticketBits - 1
	maxChunks  = ticketMask
)

func newPool(threads int) *pool {
	p := &pool{caller: sleeper{wake: make(chan struct{}, 1)}}
	p.limit.Store(int32(threads))
	for i := 1; i < threads; i++ {
		h := &helper{sleeper{wake: make(chan struct{}, 1)}}
		p.helpers = append(p.helpers, h)
		p.ended.Add(1)
		go p.help(h, i)
	}
	return p
}

// close ends the helpers and waits for them. Nothing may be running.
func (p *pool) close() {
	p.stop.Store(true)
	for _, h := range p.helpers {
		h.rouse()
	}
	p.ended.Wait()
}

// acquire claims the helpers for the caller if they are free.
func (p *pool) acquire() bool { return p.limit.Load() > 1 && p.owner.TryLock() }

func (p *pool) release() { p.owner.Unlock() }

// do runs chunks 0..n-1 on the caller, as worker 0, and the helpers. The caller has acquired
// the pool.
func (p *pool) do(n int, run func(worker, chunk int)) {
	p.run = run
	p.finished.Store(0)
	serial := p.ticket.Load() >> (2 * ticketBits)
	p.ticket.Store((serial+1)<<(2*ticketBits) | uint64(n)<<ticketBits)
	for _, h := range p.helpers[:min(n, int(p.limit.Load()))-1] {
		p.summon(h)
	}
	p.work(0)
	if p.allDone() || spinFor(p.allDone) {
		return
	}
	for !p.allDone() { // again when woken late on behalf of an earlier phase
		p.caller.sleepUnless(p.allDone)
	}
}

func (p *pool) allDone() bool {
	return p.finished.Load() == int64(p.ticket.Load()>>ticketBits&ticketMask)
}

// claim takes the next chunk of the running phase for a worker under the limit. The limit is
// read after the ticket: one that was set before a phase holds in it, for those that were about
// to look for work, too.
func (p *pool) claim(worker int) (chunk, chunks int, ok bool) {
	for {
		t := p.ticket.Load()
		next, n := int(t&ticketMask), int(t>>ticketBits&ticketMask)
		if next >= n || worker > 0 && worker >= int(p.limit.Load()) {
			return 0, n, false
		}
		if p.ticket.CompareAndSwap(t, t+1) {
			return next, n, true
		}
	}
}

// work runs chunks until there are none to claim.
func (p *pool) work(worker int) {
	for {
		chunk, n, ok := p.claim(worker)
		if !ok {
			return
		}
		p.run(worker, chunk)
		if p.finished.Add(1) == int64(n) && worker > 0 {
			p.caller.rouse()
		}
	}
}

// pending reports whether a helper has something to do: a chunk to claim, or to end.
func (p *pool) pending(worker int) bool {
	t := p.ticket.Load()
	return t&ticketMask < t>>ticketBits&ticketMask && worker < int(p.limit.Load()) || p.stop.Load()
}

func (p *pool) help(h *helper, worker int) {
	defer p.ended.Done()
	pending := func() bool { return p.pending(worker) }
	for !p.stop.Load() {
		p.work(worker)
		if !spinFor(pending) {
			h.sleepUnless(pending)
			// A system whose cores are all busy wakes a thread where it slept, and beside the caller it is of no use.
			leaveCore(int(p.core.Load()))
		}
	}
}

// spinFor waits a moment for ready to hold and reports whether it does.
func spinFor(ready func() bool) bool {
	for start := time.Now(); time.Since(start) < spin; {
		for range 64 {
			if ready() {
				return true
			}
		}
	}
	return false
}
