package group

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"millrace.dev/fabric"
	"millrace.dev/group/collective"
	"millrace.dev/group/protocol"
	"millrace.dev/group/reduce"
	"millrace.dev/group/shm"
)

// forming is the data plane of the view in force while it is being made.
type forming struct {
	cancel context.CancelFunc // ends attaching, nil before
}

// install puts a view into force.
func (lp *loop) install(a protocol.Install) {
	if a.First && !lp.joining.welcome {
		lp.rejoin() // the member that took the wish in died before it could say what to know
		return
	}
	if a.First {
		lp.account = account{Progress: Progress{Step: a.Change.Committed}}
	}
	lp.current = current{report: lp.current.report, reported: lp.current.reported, weight: lp.current.weight}
	lp.enter(a.View, lp.describe(a))
	lp.forget(a.View)
	for l := range lp.mesh.all { // of two that wanted in under one name one is in now
		if h := l.peer.Load(); h != nil && !h.Visitor {
			lp.refuseNamesake(l, h.From)
		}
	}
	if a.First {
		lp.joining.done()
		lp.turn()
	}
	if !lp.restored {
		lp.seek()
	}
	for _, event := range lp.takeLater() {
		event()
	}
}

func (lp *loop) takeLater() []func() {
	events := lp.later
	lp.later = nil
	return events
}

// describe says in words what a change does.
func (lp *loop) describe(a protocol.Install) string {
	if a.First {
		return fmt.Sprintf("this worker was let in after step %d", a.Change.Committed)
	}
	var parts []string
	for _, id := range a.Change.Remove {
		r := lp.mesh.view.Rank(id)
		if r < 0 {
			continue
		}
		name := lp.mesh.view.Members[r].Name
		if lp.leavers[id] {
			parts = append(parts, name+" has left")
		} else {
			parts = append(parts, name+" was lost")
		}
	}
	for _, m := range a.Change.Add {
		parts = append(parts, m.Name+" has joined")
	}
	if len(parts) == 0 {
		return "all whose loss was suspected are there"
	}
	return strings.Join(parts, ", ")
}

// enter makes everything that of a view.
func (lp *loop) enter(view View, reason string) {
	lp.reason, lp.entered = reason, reason
	lp.config.Logger.Info("a view is in force", "worker", lp.self.Name, "epoch", view.Epoch, "members", len(view.Members), "reason", reason)
	lp.w.view.Store(&view)
	lp.forming = &forming{}
	lp.mesh.follow(view)
	lp.form()
}

// form makes the data plane once there is a connection to each member.
func (lp *loop) form() {
	view := lp.mesh.view
	if lp.forming == nil || lp.forming.cancel != nil {
		return
	}
	p := &plane{epoch: view.Epoch, ranks: make(map[ID]int, len(view.Members)), prepare: func() error { return nil }, release: func() error { return nil }}
	conns := make([]fabric.Conn, len(view.Members))
	share := lp.door != nil
	for rank, m := range view.Members {
		p.ranks[m.ID] = rank
		if m.ID == lp.self.ID {
			continue
		}
		l := lp.mesh.best(m.ID)
		if l == nil || l.peer.Load() == nil {
			return
		}
		share = share && l.peer.Load().Shares
		l.used.Store(true)
		conns[rank] = l.conn
	}
	if err := lp.newEngine(p, conns); err != nil {
		lp.fail(err)
		return
	}
	switch hosts := hosts(view); {
	case len(view.Members) == 1:
		lp.formOver(p, conns, "the worker is alone")
	case hosts > 1:
		lp.formOver(p, conns, fmt.Sprintf("the members run on %d machines", hosts))
	case !share:
		lp.formOver(p, conns, "not all members can share memory")
	default:
		lp.attach(p, conns)
	}
}

// hosts counts the machines of a view.
func hosts(v View) int {
	seen := map[string]bool{}
	for _, m := range v.Members {
		seen[m.Host] = true
	}
	return len(seen)
}

// attach makes the data plane of shared memory, and that of the ring where it cannot be had.
func (lp *loop) attach(p *plane, conns []fabric.Conn) {
	ctx, cancel := context.WithCancel(lp.ctx)
	f := lp.forming
	f.cancel = cancel
	ids := make([]uint64, len(conns))
	for rank, m := range lp.mesh.view.Members {
		ids[rank] = uint64(m.ID)
	}
	config := shm.Config{
		View:   shm.View{Epoch: p.epoch, Rank: p.ranks[lp.self.ID], IDs: ids},
		Vector: lp.w.memory.vector, Mean: lp.w.memory.result, Plan: lp.w.plan,
	}
	door := lp.door
	lp.w.running.Go(func() {
		m, err := attach(ctx, door, config)
		cancel()
		if !lp.w.hand(func(lp *loop) { lp.attached(f, p, conns, m, err) }) {
			m.close() //nolint:errcheck // nothing is lost with it
		}
	})
}

// shared is the memory that the members of a view share: for steps, and for named calls.
type shared struct {
	team *shm.Team
	comm *shm.Comm // nil where only that cannot be had, which is so on all members
}

// attach makes both at a time. After an error there is neither.
func attach(ctx context.Context, door *shm.Door, config shm.Config) (shared, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	comms := make(chan *shm.Comm, 1)
	go func() {
		c, _ := door.Join(ctx, config.View) // who wants to know why hears it from the team
		comms <- c
	}()
	team, err := door.Attach(ctx, config)
	if err != nil { // on all members: nobody waits for this one's memory any more
		cancel()
	}
	m := shared{team, <-comms}
	if err != nil {
		return shared{}, errors.Join(err, m.close())
	}
	return m, nil
}

func (m shared) close() (err error) {
	if m.comm != nil {
		err = m.comm.Close()
	}
	if m.team != nil {
		err = errors.Join(err, m.team.Close())
	}
	return err
}

func (lp *loop) attached(f *forming, p *plane, conns []fabric.Conn, m shared, err error) {
	var mismatch *shm.MismatchError
	switch {
	case lp.forming != f:
		lp.w.running.Go(func() { m.close() }) //nolint:errcheck // nothing is lost with it
	case errors.As(err, &mismatch):
		lp.misfit(&PlanError{Member: lp.mesh.view.Members[mismatch.Rank].Name, Rank: mismatch.Rank, What: mismatch.What})
	case err != nil:
		lp.config.Logger.Info("the members share no memory", "worker", lp.self.Name, "err", err)
		lp.formOver(p, conns, fmt.Sprintf("the members cannot share memory (%v)", err))
	default:
		p.reducer, p.release = m.team, m.close
		if m.comm != nil {
			p.engine.Share(m.comm)
		}
		p.reason = fmt.Sprintf("all %d members run on one machine and share memory: each sums its part of all gradients in place, and no byte is copied", len(conns))
		lp.formed(p)
	}
}

// formOver makes the data plane of connections; why says why it is not that of shared memory.
func (lp *loop) formOver(p *plane, conns []fabric.Conn, why string) {
	memory := lp.w.memory
	reducer, choice, err := collective.NewReducer(collective.StepConfig{
		Epoch: p.epoch, Rank: p.ranks[lp.self.ID], Size: len(conns),
		Gradients: memory.gradients(), Result: memory.mean(),
		Send: sender(conns),
	}, fabric.System, lp.measuring.model)
	if err != nil {
		lp.fail(err)
		return
	}
	p.reducer, p.prepare = reducer, memory.own
	p.reason, p.expected = why+"; "+choice.Reason(), choice.Seconds[choice.Algorithm]
	lp.formed(p)
}

// sender sends to members by rank.
func sender(conns []fabric.Conn) func(int, fabric.Priority, fabric.Header, []byte, func(error)) {
	return func(to int, p fabric.Priority, h fabric.Header, body []byte, done func(error)) {
		conns[to].Send(p, h, body, done)
	}
}

// formed puts the data plane into use.
func (lp *loop) formed(p *plane) {
	lp.forming = nil
	lp.w.plane.Store(p)
	for l := range lp.mesh.all {
		if err := l.flush(p); err != nil {
			l.conn.Close(err)
		}
	}
	lp.measure(p)
	lp.serveCallers()
	lp.config.Logger.Debug("data can move", "worker", lp.self.Name, "epoch", p.epoch, "algorithm", p.reducer.Algorithm())
	lp.offer()
}

// offer gives the plane in use to the trainer, once the one before is done with.
func (lp *loop) offer() {
	p := lp.w.plane.Load()
	if p == nil || p.canceled || lp.draining != nil {
		return
	}
	lp.w.desk.put(func(d *desk) { d.plane = p })
}

// dismantle ends the use of the data plane. The gradients and a result stay.
func (lp *loop) dismantle(reason error) {
	if f := lp.forming; f != nil {
		lp.forming = nil
		if f.cancel != nil {
			f.cancel()
		}
	}
	lp.broken = nil
	p := lp.w.plane.Load()
	if p == nil || p.canceled {
		return
	}
	p.canceled = true
	p.reducer.Cancel(reason)
	p.engine.Cancel(reason)
	lp.measuring.plane = nil
	if lp.w.desk.withdraw(p) {
		lp.draining = p
	} else {
		lp.discard(p)
	}
}

// discard frees what belongs to a plane that nobody uses any more.
func (lp *loop) discard(p *plane) {
	lp.w.running.Go(func() {
		if err := p.release(); err != nil {
			lp.config.Logger.Warn("a data plane is not released", "worker", lp.self.Name, "err", err)
		}
	})
}

// reduced hears that a step is done with on a plane.
func (lp *loop) reduced(p *plane, step uint64, f reduce.Facts, err error) {
	d := lp.w.desk
	d.mu.Lock()
	if d.started == p {
		d.started = nil
	}
	d.mu.Unlock()
	switch {
	case p.canceled:
		if lp.draining == p {
			lp.draining = nil
			lp.discard(p)
			lp.offer()
		}
	case err != nil:
		// A member that is gone is the machine's affair; what lasts is not.
		lp.broken, lp.brokenSince = fmt.Errorf("step %d cannot be reduced: %w", step, err), time.Now()
	default:
		lp.current.reduced, lp.current.facts = p, f
		lp.tryPrepare()
	}
}
