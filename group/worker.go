package group

import (
	"context"
	"log/slog"
	"time"

	"millrace.dev/group/steplog"
)

// Config says who a worker is and what it trains.
type Config struct {
	// Group is the job's name; connections of another job are refused.
	Group string
	// Self is this worker. Addr is where it listens; an ID of 0 is drawn at random, an empty Host is
	// this machine.
	Self Member
	// Founders is the first view, the same on each founder, Self among them. A worker that joins
	// leaves it empty and gives addresses of members in Join.
	Founders []Member
	Join     []string

	Elements int      // of the gradient vector
	Tensors  []Tensor // what its parts are called, to name one that differs
	Data     Data
	State    State // nil: nobody can join

	// Authority decides about views; nil: more than half of the members of the view before.
	Authority Authority
	Heartbeat time.Duration // 0: DefaultHeartbeat
	Suspect   time.Duration // 0: DefaultSuspect

	Log    *steplog.Writer // nil: no step log
	Logger *slog.Logger    // nil: silent
}

// Worker is one process's membership in a group. Begin and the methods of a Step belong to one
// goroutine, the trainer's; the others may be called from anywhere.
type Worker struct {
	config Config
}

// Start makes a worker and returns when it listens. The first Begin waits for the other founders,
// or until it is let in and its state is restored. The worker ends by Leave, by Close or when ctx
// ends.
func Start(ctx context.Context, config Config) (*Worker, error) { return &Worker{config: config}, nil }

// Gradients is the vector that the caller fills with the mean gradient of its samples, between Begin
// and Commit. It is the same slice for the worker's life.
func (w *Worker) Gradients() []float32 { return nil }

// Begin starts the next step, once the one before is committed.
func (w *Worker) Begin(ctx context.Context) (*Step, error) { return &Step{}, nil }

// Leave makes the worker leave after the step under way; Begin then returns ErrLeft.
func (w *Worker) Leave() {}

// View returns the view in force.
func (w *Worker) View() View { return View{} }

// Status says what the worker does and whom it waits for.
func (w *Worker) Status() Status { return Status{} }

// Close ends the worker at once and waits for all that it started. The others see it die.
func (w *Worker) Close() error { return nil }

// Status is a worker's situation, for people.
type Status struct {
	Group   string   `json:"group"`
	Worker  string   `json:"worker"`
	Rank    int      `json:"rank"` // -1: not a member
	Epoch   uint64   `json:"epoch"`
	Members []string `json:"members"`
	Step    uint64   `json:"step"`
	Doing   string   `json:"doing"`   // "computing step 17"
	Waiting string   `json:"waiting"` // "for the gradient of w2, which was heard 0.2 s ago", or empty
	Reason  string   `json:"reason"`  // of the last change of the view
}

// Step is one turn of the training loop.
type Step struct {
	Number uint64
	Epoch  uint64  // of the data
	Shares []Range // this worker's samples; none: it computes nothing and calls Commit
	Weight uint64  // their number
	Batch  uint64  // samples of the whole group in this step
	// RateScale is Batch over the batch of the first step, with Data.PerWorker, and else 1.
	RateScale float64
	View      View // as the step begins
}

// Ready says that the gradient's elements lo up to hi are complete and stay as they are. Parts may
// come in any order; Commit declares the rest. A worker without samples need not call it.
func (s *Step) Ready(lo, hi int) {}

// Commit waits until the group has agreed on the step.
func (s *Step) Commit(ctx context.Context, report Report) (Result, error) { return Result{}, nil }
