package group

import (
	"context"
	"errors"
	"fmt"

	"millrace.dev/fabric"
	"millrace.dev/group/collective"
)

// callFrame says whether a frame belongs to a named call.
func callFrame(t uint8) bool { return t >= collective.FirstType && t <= collective.LastType }

// Call starts a named operation on buffers with all members of a view. It waits while a view is being formed.
//
// The view is the one in which the step of this worker's last Commit was reduced, before it that of the founders. Once the members
// have changed, calls fail with a ViewChangedError until the next Commit. So a worker that makes calls between its steps makes each
// together with all others that have committed the same step, or gets an error, and never waits for one that waits in Commit. A
// call that fails may have completed on other members; its Dst is undefined, and it is not to be made again after the same step. A
// worker that has not called Begin yet calls in the view in force.
//
// Calls of a name match in the order in which each member starts them in a view.
func (w *Worker) Call(ctx context.Context, r collective.Request) (*collective.Call, error) {
	for {
		p, err := w.callable(ctx)
		if err != nil {
			return nil, err
		}
		agreed := w.agreed.Load()
		if agreed != 0 && agreed != p.epoch {
			return nil, &ViewChangedError{Epoch: p.epoch}
		}
		call, err := p.engine.Start(r)
		var changed *ViewChangedError
		if agreed != 0 || !errors.As(err, &changed) {
			return call, err
		}
	}
}

// callable waits for a view whose members can make calls.
func (w *Worker) callable(ctx context.Context) (*plane, error) {
	answer := make(chan *plane, 1)
	w.post(func(lp *loop) {
		lp.callers = append(lp.callers, answer)
		lp.serveCallers()
	})
	select {
	case p := <-answer:
		return p, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-w.ended:
		return nil, w.endedBy()
	}
}

// endedBy is why the worker has ended.
func (w *Worker) endedBy() error {
	w.desk.mu.Lock()
	defer w.desk.mu.Unlock()
	if w.desk.err != nil {
		return w.desk.err
	}
	return ErrClosed
}

// run makes a call and waits for its result.
func (w *Worker) run(ctx context.Context, r collective.Request) error {
	c, err := w.Call(ctx, r)
	if err != nil {
		return err
	}
	err = c.Wait(ctx)
	<-c.Released()
	return err
}

// AllReduce combines x of all members of the view, element by element, and puts the result into x on
// each. All call it with the same name, operation and length; see Worker.Call. After an error x is undefined.
func AllReduce[T collective.Number](ctx context.Context, w *Worker, name string, x []T, op collective.Op) error {
	return w.run(ctx, collective.Request{Name: name, Kind: collective.AllReduce, Op: op, Dst: collective.Of(x)})
}

// ReduceScatter combines all members' from, of which each gets its rank's part, as collective.Part cuts it, into block.
func ReduceScatter[T collective.Number](ctx context.Context, w *Worker, name string, block, from []T, op collective.Op) error {
	return w.run(ctx, collective.Request{
		Name: name, Kind: collective.ReduceScatter, Op: op, Dst: collective.Of(block), Src: collective.Of(from),
	})
}

// AllGather puts the members' blocks, which are equally long, into all on each, in rank order.
func AllGather[T collective.Number](ctx context.Context, w *Worker, name string, all, block []T) error {
	return w.run(ctx, collective.Request{Name: name, Kind: collective.AllGather, Dst: collective.Of(all), Src: collective.Of(block)})
}

// Broadcast copies x of the member with rank root in Worker.View to the x, equally long, of all.
func Broadcast[T collective.Number](ctx context.Context, w *Worker, name string, x []T, root int) error {
	return w.run(ctx, collective.Request{Name: name, Kind: collective.Broadcast, Dst: collective.Of(x), Root: root})
}

// Barrier returns when all members of the view have called it.
func (w *Worker) Barrier(ctx context.Context, name string) error {
	return w.run(ctx, collective.Request{Name: name, Kind: collective.Barrier})
}

// measuring: the first view finds out what it costs to pass bytes on, which later choices of algorithms
// rest on. What it found counts from the commit of the group's first step on, as that proves
// that all members have found it; until then each has it for itself, and a view that changes before
// uses the default.
type measuring struct {
	plane *plane // whose links are being measured; nil: none
	found collective.Model
	model collective.Model // in force for views to come, zero: the default
}

// measure begins in the first view.
func (lp *loop) measure(p *plane) {
	if p.epoch != 1 || len(p.ranks) == 1 {
		return
	}
	lp.measuring.plane = p
	p.engine.Measure(func(m collective.Model, err error) {
		lp.w.inbox.post(func() { lp.measured(p, m, err) })
	})
}

func (lp *loop) measured(p *plane, m collective.Model, err error) {
	if lp.measuring.plane != p || err != nil {
		return // the view changes
	}
	lp.measuring.plane, lp.measuring.found = nil, m
	lp.serveCallers()
	lp.tryPrepare()
}

// serveCallers gives those who wait the calls of the view in force, once it is known what to choose
// algorithms by.
func (lp *loop) serveCallers() {
	p := lp.w.plane.Load()
	if p == nil || p.canceled || lp.measuring.plane != nil {
		return
	}
	for _, c := range lp.callers {
		c <- p
	}
	lp.callers = nil
}

// newEngine makes the calls of a view.
func (lp *loop) newEngine(p *plane, conns []fabric.Conn) error {
	e, err := collective.New(collective.Config{
		Epoch: p.epoch, Rank: p.ranks[lp.self.ID], Size: len(conns), Send: sender(conns), Clock: fabric.System,
		Model: lp.measuring.model,
	})
	if err != nil {
		return fmt.Errorf("the calls of epoch %d: %w", p.epoch, err)
	}
	p.engine = e
	return nil
}
