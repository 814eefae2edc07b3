package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"millrace.dev/group"
	"millrace.dev/internal/unixsock"
)

// linger is how long a worker stays after an error that the others have to hear of.
const linger = 2 * time.Second

// Session is the worker of one client, from its hello to its end.
type Session struct {
	config group.Config
	conn   *conn
	inbox  chan incoming
	state  *state // nil: the client has none
	step   *group.Step
	begun  bool // the first step was asked for

	mu      sync.Mutex
	worker  *group.Worker // nil before hello
	leaving bool
}

// incoming is a message of the client and the file that came along.
type incoming struct {
	*request
	file *os.File
}

// errBye ends a session in good order.
var errBye = errors.New("the client said bye")

// NewSession prepares a session for the client at the other end of a connection. The configuration
// lacks what the client knows: Elements, Tensors, Data and State.
func NewSession(c *net.UnixConn, config group.Config) *Session {
	return &Session{config: config, conn: newConn(c), inbox: make(chan incoming)}
}

// Run serves the client until it ends, and then ends the worker. The error is nil if the client said
// bye.
func (s *Session) Run(ctx context.Context) error {
	of, cancel := context.WithCancelCause(ctx)
	var reading sync.WaitGroup
	reading.Go(func() { s.read(of, cancel) })
	defer reading.Wait()
	defer s.conn.Close()
	defer cancel(nil)

	err := unixsock.CheckUser(s.conn)
	if err == nil {
		err = s.serve(of)
	}
	return s.end(ctx, err)
}

// Leave makes the worker leave the group after the step under way.
func (s *Session) Leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaving = true
	if s.worker != nil {
		s.worker.Leave()
	}
}

// Status is the worker's, for people.
func (s *Session) Status() group.Status {
	if w := s.current(); w != nil {
		return w.Status()
	}
	return group.Status{Group: s.config.Group, Worker: s.config.Self.Name, Rank: -1, Doing: "nothing: the training program has not said hello"}
}

func (s *Session) current() *group.Worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.worker
}

// read passes the client's messages on until it ends, which is the end of all that is done for it.
func (s *Session) read(ctx context.Context, end context.CancelCauseFunc) {
	for {
		r, file, err := s.conn.read()
		if err != nil {
			end(err)
			return
		}
		select {
		case s.inbox <- incoming{r, file}:
		case <-ctx.Done():
			closeFile(file)
			return
		}
	}
}

// next waits for the client's next message.
func (s *Session) next(ctx context.Context) (incoming, error) {
	select {
	case m := <-s.inbox:
		return m, nil
	case <-ctx.Done():
		return incoming{}, context.Cause(ctx)
	}
}

// end tells the client why it ends, and ends the worker.
func (s *Session) end(ctx context.Context, err error) error {
	w := s.current()
	kind := kind(err)
	bye := errors.Is(err, errBye)
	if bye {
		err = nil
	}
	if err != nil && !errors.Is(err, io.EOF) && !ended(err) {
		_ = s.conn.write(&answer{Type: "error", Kind: kind, Text: err.Error()}, nil) // it may be gone
	}
	if w != nil {
		switch {
		case bye:
			_ = w.Settle(ctx) // the client has ended, whatever becomes of the others
		case kind == "diverged" || kind == "plan":
			pause(ctx, linger)
		}
		err = errors.Join(err, w.Close())
	}
	if s.state != nil {
		s.state.close()
	}
	return err
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// kind sorts errors for the client.
func kind(err error) string {
	var protocol *ProtocolError
	var diverged *group.DivergedError
	var plan *group.PlanError
	var refused *group.RefusedError
	switch {
	case errors.As(err, &protocol):
		return "protocol"
	case errors.As(err, &diverged):
		return "diverged"
	case errors.As(err, &plan):
		return "plan"
	case errors.As(err, &refused):
		return "refused"
	case errors.Is(err, errors.ErrUnsupported):
		return "unsupported"
	}
	return "group"
}

// serve answers the client's messages.
func (s *Session) serve(ctx context.Context) error {
	if err := s.hello(ctx); err != nil {
		return err
	}
	for {
		m, err := s.next(ctx)
		if err != nil {
			return err
		}
		closeFile(m.file) // none belongs here
		if err := s.handle(ctx, m.request); err != nil {
			return err
		}
	}
}

// hello starts the worker.
func (s *Session) hello(ctx context.Context) error {
	var tensors []tensor
	for {
		m, err := s.next(ctx)
		if err != nil {
			return err
		}
		closeFile(m.file)
		switch m.Type {
		case "tensors":
			if tensors = append(tensors, m.Tensors...); len(tensors) > maxTensors {
				return broken("more than %d tensors", maxTensors)
			}
		case "hello":
			if err := m.plan(tensors); err != nil {
				return err
			}
			return s.start(ctx, m.request, tensors)
		default:
			return broken("%q before hello", m.Type)
		}
	}
}

func (s *Session) start(ctx context.Context, m *request, tensors []tensor) error {
	c := s.config
	c.Elements = m.Elements
	c.Data = group.Data{Samples: m.Epoch, Batch: m.Batch, PerWorker: m.PerWorker, Base: m.Base}
	for _, t := range tensors {
		c.Tensors = append(c.Tensors, group.Tensor{Name: t.Name, Lo: t.Lo, Hi: t.Hi})
	}
	if m.State {
		s.state = &state{s: s, ctx: ctx}
		c.State = s.state
	}
	w, err := group.Start(context.WithoutCancel(ctx), c)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.worker = w
	if s.leaving {
		w.Leave()
	}
	s.mu.Unlock()
	file, err := w.GradientsFile()
	if err != nil {
		return fmt.Errorf("the gradients cannot be shared with another process: %w", err)
	}
	defer closeFile(file)
	return s.conn.write(&answer{Type: "started", Version: Version, Elements: m.Elements, Name: c.Self.Name}, file)
}

// handle answers one message.
func (s *Session) handle(ctx context.Context, m *request) error {
	switch m.Type {
	case "begin":
		return s.begin(ctx)
	case "ready":
		return s.ready(m)
	case "commit":
		return s.commit(ctx, m)
	case "leave":
		s.Leave()
		return nil
	case "status":
		return s.status()
	case "broadcast":
		return s.broadcast(ctx)
	case "bye":
		return errBye
	}
	return broken("%q is no message, or not one for this time", m.Type)
}

func (s *Session) begin(ctx context.Context) error {
	if s.step != nil {
		return broken("begin before the commit of step %d", s.step.Number)
	}
	s.begun = true
	if s.state != nil {
		s.state.forget() // the last step was applied since
	}
	step, err := s.worker.Begin(ctx)
	if errors.Is(err, group.ErrLeft) {
		return s.conn.write(&answer{Type: "left"}, nil)
	}
	if err != nil {
		return err
	}
	s.step = step
	a := &answer{
		Type: "step", Step: step.Number, Epoch: step.Epoch, Weight: step.Weight, Offset: step.Offset, Batch: step.Batch,
		RateScale: step.RateScale, Leader: step.Leader,
	}
	for _, r := range step.Shares {
		a.Ranges = append(a.Ranges, [2]uint64{r.Lo, r.Hi})
	}
	a.view(step.View)
	return s.conn.write(a, nil)
}

// broadcast puts the first founder's vector in place of the client's. A newcomer keeps its own, as it
// gets the members' state. It is for the start only: a worker that is lost meanwhile makes it fail.
func (s *Session) broadcast(ctx context.Context) error {
	if s.begun {
		return broken("broadcast after the first begin")
	}
	if len(s.config.Founders) > 0 {
		if err := group.Broadcast(ctx, s.worker, "parameters", s.worker.Gradients(), 0); err != nil {
			return fmt.Errorf("the first worker's parameters have not come: %w", err)
		}
	}
	return s.conn.write(&answer{Type: "broadcast"}, nil)
}

// view fills in the members.
func (a *answer) view(v group.View) {
	a.View = v.Epoch
	for _, m := range v.Members {
		a.Members = append(a.Members, m.Name)
	}
}

func (s *Session) ready(m *request) error {
	switch {
	case s.step == nil:
		return broken("ready without a step")
	case m.Lo < 0 || m.Lo > m.Hi || m.Hi > len(s.worker.Gradients()):
		return broken("the elements %d to %d are ready of %d", m.Lo, m.Hi, len(s.worker.Gradients()))
	}
	s.step.Weigh(m.Samples)
	s.step.Ready(m.Lo, m.Hi)
	return nil
}

func (s *Session) commit(ctx context.Context, m *request) error {
	if s.step == nil {
		return broken("commit without a step")
	}
	step := s.step
	s.step = nil
	step.Weigh(m.Samples)
	r, err := step.Commit(ctx, group.Report{
		Loss: m.Loss, Norm2: m.Norm2, Correct: m.Correct, NonFinite: m.NonFinite, Hash: m.Hash, Rate: m.Rate,
	})
	if errors.Is(err, group.ErrLeft) { // the others took this step without it; begin will say so
		r, err = group.Result{Step: step.Number, Outcome: group.Void}, nil
	}
	if err != nil {
		return err
	}
	if r.Outcome == group.Apply {
		copy(s.worker.Gradients(), r.Mean) // all have read them: the step is over
	}
	return s.conn.write(told(r), nil)
}

// told is a result for the client.
func told(r group.Result) *answer {
	a := &answer{
		Type: "result", Step: r.Step, Outcome: r.Outcome.String(), Weight: r.Weight,
		Epoch: r.Next.Ledger.Epoch, EpochEnded: r.EpochEnded,
	}
	a.view(r.View)
	samples := uint64(0)
	for _, t := range r.Reports {
		if t.NonFinite && a.Culprit == "" {
			a.Culprit = t.Name
		}
		a.Loss += t.Loss * float64(t.Samples)
		a.Correct += t.Correct
		samples += t.Samples
	}
	a.Loss = finite(a.Loss / float64(max(samples, 1)))
	return a
}

func (s *Session) status() error {
	status := s.worker.Status()
	body, err := json.Marshal(status)
	if err != nil {
		return err
	}
	text := status.Doing
	if status.Waiting != "" {
		text += ", waiting " + status.Waiting
	}
	return s.conn.write(&answer{Type: "status", Text: text, Status: body}, nil)
}

// save asks the client for its state.
func (s *Session) save(ctx context.Context) (*os.File, int64, error) {
	if err := s.conn.write(&answer{Type: "save"}, nil); err != nil {
		return nil, 0, err
	}
	m, err := s.expect(ctx, "saved")
	if err == nil {
		err = checkSaved(m.file, m.Size)
	}
	if err != nil {
		closeFile(m.file)
		return nil, 0, err
	}
	return m.file, m.Size, nil
}

// restore gives the client its state.
func (s *Session) restore(ctx context.Context, f *os.File, step uint64, size int64) error {
	if err := s.conn.write(&answer{Type: "restore", Step: step, Size: size}, f); err != nil {
		return err
	}
	m, err := s.expect(ctx, "restored")
	closeFile(m.file)
	return err
}

// expect waits for the client's answer to a question.
func (s *Session) expect(ctx context.Context, what string) (incoming, error) {
	m, err := s.next(ctx)
	switch {
	case err != nil:
		return m, err
	case m.Type == "failed":
		return m, fmt.Errorf("the client cannot: %s", m.Text)
	case m.Type != what:
		return m, broken("%q in place of %q", m.Type, what)
	}
	return m, nil
}
