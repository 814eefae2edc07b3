package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"millrace.dev/learn/tensor"
)

// Replay takes the steps of a group again, in one process and one worker's share after the other.
// With the shares, the order of additions and the learning rates of the group's log it ends with
// the same numbers, to the bit.
type Replay struct {
	trainer *Trainer
	alone   *alone
}

// NewReplay makes a replay that stands at the beginning of a run. The configuration is that of the
// run's trainers; its Group plays no part.
func NewReplay(cfg Config) (*Replay, error) {
	a := &alone{}
	cfg.Group, cfg.Dir = a, ""
	t, err := New(cfg)
	return &Replay{t, a}, err
}

// Local is the gradient and states that a worker had from its share of the coming step. It is
// valid until the next call.
func (r *Replay) Local(share Share) ([]float32, error) {
	_, cause, err := r.trainer.local(share)
	return r.alone.local, errors.Join(cause, err)
}

// Mean is where the mean over all workers is to be put before a step is applied.
func (r *Replay) Mean() []float32 { return r.alone.mean }

// Step concludes the coming step: it updates with the mean at a learning rate, or passes over.
func (r *Replay) Step(apply bool, rate float64) error {
	if apply {
		if err := r.trainer.applyMean(rate); err != nil {
			return err
		}
	}
	r.trainer.state.Step++
	return nil
}

// Taken is the number of steps so far.
func (r *Replay) Taken() int { return r.trainer.state.Step }

// Hash is a fingerprint of the numbers: see Trainer.Hash.
func (r *Replay) Hash() uint64 { return r.trainer.Hash() }

// Matches compares the numbers with those of a checkpoint of as many steps in a directory, to the bit. It
// reports whether there is one.
func (r *Replay) Matches(dir string) (found bool, err error) {
	t := r.trainer
	path := checkpointPath(dir, t.state.Step)
	c, err := readCheckpoint(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	held := map[string][]float32{}
	for _, x := range c.tensors {
		held[x.Name] = x.Data
	}
	for _, x := range tensors(t.vectors, nil) {
		if !bytes.Equal(tensor.BytesF32(x.Data), tensor.BytesF32(held[x.Name])) {
			return true, &CheckpointError{path, fmt.Errorf("%s has other numbers after step %d", x.Name, t.state.Step)}
		}
	}
	return true, nil
}

// alone is the group of a replay: it only holds the vectors.
type alone struct{ local, mean []float32 }

func (a *alone) Join(n int, _ Place, _ Transfer) (local, mean []float32, err error) {
	a.local, a.mean = make([]float32, n), make([]float32, n)
	return a.local, a.mean, nil
}

func (a *alone) Begin(context.Context) (Share, error) { return Share{}, errReplay }

func (a *alone) Commit(context.Context, Tally) (Verdict, error) { return Verdict{}, errReplay }

func (a *alone) Ready(int, int) {}

func (a *alone) Leave() {}

var errReplay = fmt.Errorf("train: a replay takes no steps of its own")
