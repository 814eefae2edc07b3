package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"millrace.dev/cluster"
	"millrace.dev/fabric"
	"millrace.dev/group"
	"millrace.dev/group/steplog"
)

// spec is what a worker is to do: the first line of its input.
type spec struct {
	Dir      string
	Self     group.Member
	Founders []group.Member `json:",omitempty"`
	Join     []string       `json:",omitempty"`
	Service  string         // URL of the membership service; empty: the majority
	Elements int
	Data     group.Data
}

// order is any later line: where to kill itself, to wait after the step under way until the last one is known, or
// which that is.
type order struct {
	Point string
	Times int64
	Hold  bool
	Last  uint64
}

// Events of a worker, besides its steps.
const (
	eventArmed = "armed" // with an order to die
	eventDying = "dying"
	eventHeld  = "held"
	eventTold  = "told" // its last step
	eventAsk   = "the authority is asked"
	eventRuled = "the authority has answered"
	eventEnd   = "end"

	eventLost  = "a member is lost" // these are of group's log
	eventView  = "a view is in force"
	eventPlane = "data can move"
)

// line is a line of a worker's output: a step that was committed, or an event.
type line struct {
	Event   string  `json:",omitempty"`
	At      int64   // see now
	Step    uint64  `json:",omitempty"`
	Epoch   uint64  `json:",omitempty"` // of the view
	Members int     `json:",omitempty"`
	Weight  uint64  `json:",omitempty"` // its samples
	Compute float64 `json:",omitempty"` // milliseconds
	Reduce  float64 `json:",omitempty"` // from there to the commit
	Hash    uint64  `json:",omitempty"` // at the end
	Err     string  `json:",omitempty"`
}

const rate = 0.05

// teller writes lines.
type teller struct {
	mu  sync.Mutex
	out *json.Encoder
}

func (t *teller) tell(l line) {
	if l.At == 0 {
		l.At = now()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.out.Encode(l) //nolint:errcheck // the parent is gone
}

// serveWorker is a worker's whole life.
func serveWorker(in io.Reader, out io.Writer) error {
	makeRoom()
	orders := bufio.NewScanner(in)
	if !orders.Scan() {
		return errors.New("a worker without a spec")
	}
	var s spec
	if err := json.Unmarshal(orders.Bytes(), &s); err != nil {
		return err
	}
	t := &teller{out: json.NewEncoder(out)}
	err := s.run(orders, t)
	if err != nil {
		t.tell(line{Event: eventEnd, Err: err.Error()})
	}
	return err
}

func (s *spec) run(orders *bufio.Scanner, t *teller) error {
	ctx := context.Background()
	doing, err := openPhase(filepath.Join(s.Dir, s.Self.Name+".phase"))
	if err != nil {
		return err
	}
	defer doing.close()
	sockets, err := fabric.NewSockets(fabric.Options{Name: s.Self.Name})
	if err != nil {
		return err
	}
	defer sockets.Close() //nolint:errcheck // the process ends
	log, err := steplog.Open(logDir(s.Dir, s.Self.Name), steplog.Options{})
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // what is lost is missed when the logs are merged
	m := newModel(s.Elements)
	net := &trap{Network: sockets, phase: doing, dying: func() { t.tell(line{Event: eventDying}) }}
	config := group.Config{
		Group: "recover", Self: s.Self, Founders: s.Founders, Join: s.Join, Network: net, Elements: s.Elements, Data: s.Data,
		State: m, Log: log, Logger: slog.New(&events{tell: t.tell}), Changing: makeRoom,
	}
	if s.Service != "" {
		c, err := cluster.Open(ctx, cluster.Config{URL: s.Service})
		if err != nil {
			return err
		}
		defer c.Close()
		config.Authority = timed{group.ByRegister(c.Register("view")), t.tell}
	}
	w, err := group.Start(ctx, config)
	if err != nil {
		return err
	}
	defer w.Close() //nolint:errcheck // the process ends
	fresh(w.Gradients())
	var last atomic.Uint64 // step to end with
	var hold, over atomic.Bool
	told := make(chan struct{}) // when last is known
	gone := make(chan struct{}) // when nothing comes from the parent any more
	go func() {
		defer close(gone)
		for orders.Scan() {
			var o order
			if json.Unmarshal(orders.Bytes(), &o) != nil {
				break
			}
			if o.Point != "" {
				net.arm(o.Point, o.Times)
				t.tell(line{Event: eventArmed})
			}
			if o.Hold {
				hold.Store(true)
			}
			if o.Last > 0 {
				last.Store(o.Last)
				t.tell(line{Event: eventTold})
				close(told)
			}
		}
		if !over.Load() {
			os.Exit(2) // the parent has died
		}
	}()
	var room room
	for last.Load() == 0 || m.step < last.Load() {
		if err := turn(ctx, w, m, &room, doing, net, t.tell); err != nil {
			return err
		}
		if hold.Swap(false) {
			t.tell(line{Event: eventHeld, Step: m.step})
			<-told
		}
	}
	over.Store(true)
	t.tell(line{Event: eventEnd, Step: m.step, Hash: m.hash()})
	<-gone // others may still need this one's word on the last step; the parent says when to go
	return nil
}

func logDir(dir, name string) string { return filepath.Join(dir, name+"-log") }

// turn takes one step.
func turn(ctx context.Context, w *group.Worker, m *model, room *room, doing *phase, net *trap, tell func(line)) error {
	step, err := w.Begin(ctx)
	if err != nil {
		return err
	}
	doing.set(inCompute)
	began := now()
	report := group.Report{Rate: rate * step.RateScale, Hash: m.chain}
	if step.Weight > 0 {
		m.gradient(w.Gradients(), step.Number, step.Epoch, step.Shares, step.Ready)
	}
	doing.set(inReduce)
	net.reducing()
	computed := now()
	r, err := step.Commit(ctx, report)
	at := now()
	doing.set(inUpdate)
	if err != nil {
		return err
	}
	room.settle(r)
	switch r.Outcome {
	case group.Apply:
		m.update(r.Step, float32(report.Rate), r.Mean)
	case group.Skip:
		m.skip(r.Step)
	default:
		return fmt.Errorf("step %d is void: the group took this worker for dead", r.Step)
	}
	tell(line{
		At: at, Step: r.Step, Epoch: r.View.Epoch, Members: len(r.View.Members), Weight: step.Weight,
		Compute: float64(computed-began) / 1e6, Reduce: float64(at-computed) / 1e6,
	})
	return nil
}

// timed tells when the authority is asked.
type timed struct {
	group.Authority
	tell func(line)
}

// Propose implements group.Authority.
func (t timed) Propose(ctx context.Context, p group.Proposal) (group.Proposal, error) {
	t.tell(line{Event: eventAsk, Epoch: p.View.Epoch})
	chosen, err := t.Authority.Propose(ctx, p)
	t.tell(line{Event: eventRuled, Epoch: p.View.Epoch})
	return chosen, err
}

// events passes on what the worker logs about views.
type events struct{ tell func(line) }

// Enabled implements slog.Handler.
func (e *events) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler.
func (e *events) WithAttrs([]slog.Attr) slog.Handler { return e }

// WithGroup implements slog.Handler.
func (e *events) WithGroup(string) slog.Handler { return e }

// Handle implements slog.Handler.
func (e *events) Handle(_ context.Context, r slog.Record) error {
	l := line{Event: r.Message}
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "epoch":
			l.Epoch = a.Value.Uint64()
		case "members":
			l.Members = int(a.Value.Int64())
		case "err", "reason":
			l.Err = a.Value.String()
		}
		return true
	})
	e.tell(l)
	return nil
}
