package group

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"millrace.dev/fabric"
	"millrace.dev/group/steplog"
)

// Config says who a worker is and what it trains.
type Config struct {
	// Group is the job's name; workers of another job are refused.
	Group string
	// Self is this worker. Addr is where it listens; an ID of 0 is drawn at random, an empty Host is
	// this machine.
	Self Member
	// Founders is the first view, the same on each founder, Self among them, with IDs and Hosts. A worker that
	// joins leaves it empty and gives addresses of members in Join.
	Founders []Member
	Join     []string
	Network  fabric.Network // the caller closes it, after the worker

	Elements int      // of the gradient vector
	Tensors  []Tensor // what its parts are called, to name one that differs; may be empty
	Data     Data
	From     Progress // where the founders begin, after a checkpoint
	State    State    // nil: nobody can join, nor come back after having been cut off
	About    []byte   // what the group trains, for those who Ask; at most 64 KiB

	// Authority decides about views; nil: more than half of the members of the view before.
	Authority Authority
	Heartbeat time.Duration // 0: DefaultHeartbeat
	Suspect   time.Duration // how long a member may be silent; 0: DefaultSuspect

	Changing func()          // called first when a change of the view begins, not to block; nil: nothing
	Log      *steplog.Writer // nil: no step log
	Logger   *slog.Logger    // nil: silent
}

// Tensor names a part of the gradient vector.
type Tensor struct {
	Name   string
	Lo, Hi int // elements
}

const maxAbout = 64 << 10

func (c *Config) fill() error {
	switch {
	case c.Network == nil:
		return errors.New("a worker needs a network")
	case c.Self.Name == "" || c.Self.Addr == "":
		return errors.New("a worker needs a name and an address to listen on")
	case c.Elements < 1:
		return fmt.Errorf("a gradient vector of %d elements", c.Elements)
	case len(c.Founders) == 0 && len(c.Join) == 0:
		return errors.New("a worker needs founders, or addresses of members to join")
	case len(c.Founders) > 0 && c.Self.ID == 0:
		return errors.New("a founder needs the ID that the other founders know")
	case len(c.Founders) == 0 && c.State == nil:
		return errors.New("a worker that joins needs a state to restore")
	case len(c.About) > maxAbout:
		return fmt.Errorf("the description of the job has %d bytes, more than %d", len(c.About), maxAbout)
	case (c.Data.Samples == 0) != (c.Data.Batch == 0):
		return fmt.Errorf("an epoch of %d samples and a batch of %d", c.Data.Samples, c.Data.Batch)
	}
	if c.Self.ID == 0 {
		c.Self.ID = NewID()
	}
	if c.Self.Host == "" {
		c.Self.Host = ThisHost()
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = DefaultHeartbeat
	}
	if c.Suspect == 0 {
		c.Suspect = DefaultSuspect
	}
	if c.Changing == nil {
		c.Changing = func() {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// Worker is one process's membership in a group. Begin and the methods of a Step belong to one
// goroutine, the trainer's; the others may be called from anywhere.
type Worker struct {
	config  Config
	plan    uint64 // digest of what the vector consists of
	memory  *memory
	inbox   *inbox
	desk    *desk
	plane   atomic.Pointer[plane]
	cancel  context.CancelFunc
	loop    *loop
	intake  atomic.Pointer[intake]
	trainer trainer       // of the trainer's goroutine
	agreed  atomic.Uint64 // epoch of the view that calls belong to; 0 before the first Begin, noView for none
	running sync.WaitGroup
	ended   chan struct{} // closed when the loop has ended
	stale   atomic.Uint64 // frames of earlier epochs that were dropped
	waited  atomic.Int64  // nanoseconds of the trainer in Commit

	status atomic.Pointer[Status]
	view   atomic.Pointer[View]
}

// Start makes a worker and returns when it listens. The first Begin waits for the other founders,
// or until the worker is let in and its state is restored. The worker ends by Leave, by Close or
// when ctx ends.
func Start(ctx context.Context, config Config) (*Worker, error) {
	if err := config.fill(); err != nil {
		return nil, err
	}
	w := &Worker{config: config, plan: digest(config.Elements, config.Tensors), inbox: newInbox(), desk: newDesk(), ended: make(chan struct{})}
	w.view.Store(&View{})
	w.status.Store(&Status{})
	var err error
	if w.memory, err = newMemory(config.Elements); err != nil {
		return nil, err
	}
	ctx, w.cancel = context.WithCancel(ctx)
	lp, err := newLoop(ctx, w)
	if err != nil {
		w.cancel()
		return nil, errors.Join(err, w.memory.close())
	}
	w.running.Go(func() { defer close(w.ended); lp.run() })
	context.AfterFunc(ctx, func() { w.inbox.post(func() { lp.fail(context.Cause(ctx)) }) })
	return w, nil
}

// Gradients is the vector that the caller fills with the mean gradient of its samples, between Begin
// and Commit. It is the same slice for the worker's life.
func (w *Worker) Gradients() []float32 { return w.memory.gradients() }

// Mean is the vector of a committed step's result, to be read from Commit until the next Begin. It is
// the same slice for the worker's life, whatever memory is behind it.
func (w *Worker) Mean() []float32 { return w.memory.mean() }

// Leave makes the worker leave after the step under way; Begin then returns ErrLeft, or ErrLeftLast.
func (w *Worker) Leave() { w.post(func(lp *loop) { lp.leave() }) }

// PeerDown says that somebody has seen a worker of this name end, such as its parent process.
func (w *Worker) PeerDown(name string) {
	w.post(func(lp *loop) { lp.peerDown(name, "its process has ended") })
}

// Drain makes the member of this name leave after the step under way.
func (w *Worker) Drain(name string) error {
	answer := make(chan error, 1)
	w.post(func(lp *loop) { answer <- lp.drain(name) })
	select {
	case err := <-answer:
		return err
	case <-w.ended:
		return ErrClosed
	}
}

// View returns the view in force.
func (w *Worker) View() View { return *w.view.Load() }

// post runs f on the loop.
func (w *Worker) post(f func(lp *loop)) bool { return w.inbox.post(func() { f(w.loop) }) }

// hand runs f on the loop and says whether it has run; false where the loop has ended before.
func (w *Worker) hand(f func(lp *loop)) bool {
	done := make(chan struct{})
	w.post(func(lp *loop) { defer close(done); f(lp) })
	select {
	case <-done:
		return true
	case <-w.ended:
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Close ends the worker at once and waits for all that it started. To the others it has died. It must
// not be called during Begin or Commit, and ends the use of Gradients and Mean.
func (w *Worker) Close() error {
	w.post(func(lp *loop) { lp.fail(ErrClosed) })
	w.running.Wait()
	w.cancel()
	return w.memory.close()
}
