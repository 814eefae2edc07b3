package group

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"millrace.dev/fabric"
	"millrace.dev/group/protocol"
	"millrace.dev/group/reduce"
	"millrace.dev/group/shm"
)

// loop owns a worker's state. Its methods run on one goroutine, by way of the inbox; they do not
// block.
type loop struct {
	w      *Worker
	ctx    context.Context
	config *Config

	self        Member
	incarnation int
	draining    *plane            // canceled, not done with; the next one waits for that
	machine     *protocol.Machine // nil: not in a group
	timer       *time.Timer       // of the machine
	mesh        mesh
	door        *shm.Door // nil: this worker shares no memory
	joining     joining

	account account
	leavers map[ID]bool // who wished so with the last step
	current current
	forming *forming
	transfer
	measuring measuring
	callers   []chan *plane
	later     []func() // events of an epoch that is not in force here yet

	broken      error // why the step cannot be reduced in this view, and since when
	brokenSince time.Time

	trouble  string        // the last thing that failed without ending anything
	entered  string        // why the view in force is what it is
	reason   string        // what happened to the members last
	settling chan struct{} // closed once the others have this worker's last step; nil: nobody waits for that
	left     bool
	wrong    *PlanError // that is told to the others before the loop ends
	err      error      // why the loop ends
}

// account is what all members know alike after the same step.
type account struct {
	Progress
	sharers []uint64 // who takes a share of the next step
}

// current is the step under way: committed+1.
type current struct {
	facts    reduce.Facts
	reduced  *plane // that has given facts; nil: not reduced yet
	reported bool
	report   Report
	weight   uint64
	prepared uint64 // the epoch in which the machine was told
}

func newLoop(ctx context.Context, w *Worker) (*loop, error) {
	lp := &loop{w: w, ctx: ctx, config: &w.config, self: w.config.Self}
	w.loop = lp
	lp.mesh.init(lp)
	w.inbox.post(lp.start) // before any connection is accepted, which would belong to no incarnation
	l, err := w.config.Network.Listen(w.config.Self.Addr, lp.mesh.accept)
	if err != nil {
		return nil, fmt.Errorf("worker %q cannot listen: %w", w.config.Self.Name, err)
	}
	lp.mesh.listener = l
	lp.self.Addr = l.Addr()
	return lp, nil
}

// start makes the first incarnation, a founder's if there are any.
func (lp *loop) start() {
	lp.incarnate()
	if len(lp.config.Founders) == 0 {
		return // join comes with Begin
	}
	lp.restored = true
	lp.account = account{Progress: lp.config.From}
	for _, m := range lp.config.Founders {
		lp.account.sharers = append(lp.account.sharers, uint64(m.ID))
	}
	view := View{Epoch: 1, Members: lp.config.Founders}
	machine, err := protocol.New(lp.protocol(), view)
	if err != nil {
		lp.fail(err)
		return
	}
	lp.machine = machine
	lp.enter(view, "the group begins")
	lp.turn()
}

// incarnate begins a new life: nothing of the one before counts.
func (lp *loop) incarnate() {
	lp.incarnation++
	lp.machine = nil
	lp.current, lp.later, lp.broken = current{}, nil, nil
	lp.transfer.clear()
	lp.dismantle(errCutOff)
	lp.mesh.reset()
	if lp.incarnation > 1 {
		lp.self.ID = NewID()
	}
	lp.mesh.live()
	if lp.door != nil {
		door := lp.door
		lp.w.running.Go(func() { door.Close() }) //nolint:errcheck // nothing is lost with it
		lp.door = nil
	}
	if lp.w.memory.vector != nil {
		door, err := shm.Open(uint64(lp.self.ID))
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			lp.trouble = err.Error()
		}
		if err == nil {
			lp.door = door
		}
	}
	lp.w.desk.put(func(d *desk) {
		d.incarnation = lp.incarnation
		d.turn, d.stripes, d.arrived = nil, nil, nil
	})
}

var errCutOff = errors.New("this worker was cut off from the group")

func (lp *loop) protocol() protocol.Config {
	c := protocol.Config{Self: lp.self, Authority: protocol.Majority, Committed: lp.config.From.Step}
	if lp.config.Authority != nil {
		c.Authority = protocol.Service
	}
	return c
}

// run handles events until the worker ends.
func (lp *loop) run() {
	beat := time.NewTicker(lp.config.Heartbeat)
	defer beat.Stop()
	stop := make(chan struct{})
	lp.w.running.Go(func() {
		for {
			select {
			case <-beat.C:
				lp.w.inbox.post(lp.beat)
			case <-stop:
				return
			}
		}
	})
	lp.w.inbox.run()
	close(stop)
	lp.end()
}

// fail ends the worker with an error, unless it has ended.
func (lp *loop) fail(err error) {
	if lp.err != nil || lp.wrong != nil && err == ErrClosed {
		return
	}
	lp.err = err
	lp.config.Logger.Error("the worker ends", "worker", lp.self.Name, "err", err)
	lp.w.desk.put(func(d *desk) { d.err = err })
	lp.w.inbox.end()
}

// end releases everything once the loop has ended.
func (lp *loop) end() {
	lp.machine = nil
	if lp.timer != nil {
		lp.timer.Stop()
	}
	lp.dismantle(ErrClosed)
	if lp.draining != nil {
		lp.discard(lp.draining) // when it is done with the step, nobody hears
	}
	lp.mesh.close()
	if lp.door != nil {
		lp.door.Close() //nolint:errcheck // nothing is lost with it
	}
	lp.publish()
}

// handle gives the machine an event and carries out what it wants.
func (lp *loop) handle(e protocol.Event) {
	if lp.machine == nil {
		return
	}
	// The machine reuses the slice, and carrying out an action may lead to another event.
	machine := lp.machine
	for _, a := range slices.Clone(machine.Handle(time.Now(), e)) {
		if lp.machine != machine || lp.err != nil {
			return // its incarnation is over
		}
		lp.act(a)
	}
}

func (lp *loop) act(a protocol.Action) {
	switch a := a.(type) {
	case protocol.Send:
		lp.mesh.say(a.To, a.Message)
	case protocol.SetTimer:
		lp.setTimer(a.At)
	case protocol.Cancel:
		lp.config.Changing()
		lp.dismantle(&ViewChangedError{Epoch: a.Epoch})
	case protocol.Ask:
		lp.ask(a)
	case protocol.Commit:
		lp.committed(a)
	case protocol.Install:
		lp.install(a)
	case protocol.Stalled:
		lp.config.Logger.Warn(LogStalled, "worker", lp.self.Name, "reason", a.Reason)
	case protocol.Fenced:
		lp.fenced(a)
	case protocol.Failed:
		lp.fail(a.Err)
	}
}

func (lp *loop) setTimer(at time.Time) {
	if lp.timer != nil {
		lp.timer.Stop()
	}
	if at.IsZero() {
		return
	}
	lp.timer = time.AfterFunc(time.Until(at), func() {
		lp.w.inbox.post(func() { lp.handle(protocol.Tick{}) })
	})
}

// ask takes a change to the authority; its answer is an event.
func (lp *loop) ask(a protocol.Ask) {
	machine := lp.machine
	proposal := Proposal{Epoch: a.Epoch, View: a.View, Change: protocol.AppendChange(nil, a.Change)}
	lp.w.running.Go(func() {
		ctx, cancel := context.WithTimeout(lp.ctx, authorityPatience)
		defer cancel()
		answer := protocol.Answer{Epoch: a.Epoch}
		chosen, err := lp.config.Authority.Propose(ctx, proposal)
		if err == nil {
			answer.Change, err = chosen.change()
		}
		answer.Err = err
		lp.w.inbox.post(func() {
			if lp.machine == machine {
				lp.handle(answer)
			}
		})
	})
}

const authorityPatience = 2 * time.Second

// fenced ends an incarnation: the group goes on without it.
func (lp *loop) fenced(f protocol.Fenced) {
	lp.machine = nil
	if f.Left {
		lp.depart()
		return
	}
	lp.config.Logger.Warn("the group goes on without this worker, which comes back", "worker", lp.self.Name, "epoch", f.Epoch)
	lp.reason = fmt.Sprintf("the group went on without this worker (epoch %d)", f.Epoch)
	lp.rejoin()
}

// rejoin begins a new incarnation, which joins as soon as the trainer is ready for a new state.
func (lp *loop) rejoin() {
	if lp.config.State == nil {
		lp.fail(&RefusedError{Reason: "it was cut off, and without a State it cannot come back"})
		return
	}
	lp.joining.remember(lp.mesh.view)
	lp.incarnate()
}

// leave wishes to leave with the step under way.
func (lp *loop) leave() {
	if lp.machine == nil || lp.machine.View().Epoch == 0 {
		lp.depart()
		return
	}
	lp.handle(protocol.Wish{Leave: true})
}

// depart ends the membership in good order; the loop goes on, for what others still have to hear.
func (lp *loop) depart() {
	left := ErrLeft
	if lp.keepsState() {
		left = ErrLeftLast
	}
	lp.machine, lp.left = nil, true
	lp.joining.done()
	lp.dismantle(left)
	lp.w.desk.put(func(d *desk) { d.err = left })
}

// keepsState says whether this worker, which leaves, is the first of those who have the state, live, and leave with it,
// and none goes on.
func (lp *loop) keepsState() bool {
	first := lp.restored
	for _, m := range lp.mesh.view.Members {
		switch {
		case m.ID == lp.self.ID:
			return first && !lp.succeeded()
		case lp.leavers[m.ID] && !lp.mesh.suspected[m.ID]:
			first = false
		}
	}
	return false
}

// succeeded says whether a member that has the state and lives goes on.
func (lp *loop) succeeded() bool {
	return slices.ContainsFunc(lp.account.sharers, func(id uint64) bool {
		return ID(id) != lp.self.ID && lp.mesh.view.Has(ID(id)) && !lp.mesh.suspected[ID(id)]
	})
}

func (lp *loop) drain(name string) error {
	if name == lp.self.Name {
		lp.leave()
		return nil
	}
	for _, m := range lp.mesh.view.Members {
		if m.Name == name {
			lp.mesh.control(m, typeDrain, nil)
			return nil
		}
	}
	return fmt.Errorf("%q is no member of the group", name)
}

// control takes a frame of the group itself.
func (lp *loop) control(l *link, h fabric.Header, body []byte) {
	from := l.peer.Load().From
	lp.heardOfStep(from.ID, h.Step)
	switch h.Type {
	case typeMessage:
		m, err := protocol.Decode(body)
		if err != nil {
			l.conn.Close(fmt.Errorf("a message that cannot be read: %w", err))
			return
		}
		lp.handle(protocol.Received{From: from.ID, Message: m})
	case typeDrain:
		lp.leave()
	case typePlan:
		lp.compare(l, body)
	case typeMisfit:
		lp.misfits(l, body)
	case typeJoin:
		lp.wish(l, body)
	case typeWelcome:
		lp.welcomed(l, body)
	case typeRefuse:
		lp.refused(l, body)
	case typeAsk:
		lp.asked(l, body)
	case typeWant, typeHave, typeTake:
		lp.stateFrame(l, h, body)
	default:
		l.conn.Close(fmt.Errorf("a frame of unknown type %d", h.Type))
	}
}

// maxLater bounds the events that wait for an epoch to begin here.
const maxLater = 4096

// stateFrame takes a message about the transfer of state.
func (lp *loop) stateFrame(l *link, h fabric.Header, body []byte) {
	from := l.peer.Load().From
	epoch := lp.mesh.view.Epoch
	if h.Epoch > epoch && len(lp.later) < maxLater {
		lp.later = append(lp.later, func() { lp.stateFrame(l, h, body) })
		return
	}
	if !lp.mesh.view.Has(from.ID) {
		return
	}
	var err error
	switch h.Type {
	case typeWant:
		err = decode(body, func(m wantMessage) { lp.wanted(from, m) })
	case typeHave:
		err = decode(body, func(m haveMessage) { lp.have(from.ID, m) })
	case typeTake:
		err = decode(body, func(m takeMessage) { lp.take(l, h.Epoch, m) })
	}
	if err != nil {
		l.conn.Close(fmt.Errorf("a message about the state that cannot be read: %w", err))
	}
}

// decode reads a message and passes it on.
func decode[M any](body []byte, take func(M)) error {
	var m M
	if err := json.Unmarshal(body, &m); err != nil {
		return err
	}
	take(m)
	return nil
}
