package train

import (
	"errors"
	"fmt"

	"millrace.dev/learn/data"
	"millrace.dev/learn/engine"
	"millrace.dev/learn/optim"
)

// compileStep makes the runner of a training step. The first one fixes the vectors' layout.
func (t *Trainer) compileStep(batch int) (*runner, error) {
	g, err := StepGraph(t.cfg.Model, batch, t.cfg.losses(), t.cfg.Optimizer)
	if err != nil {
		return nil, err
	}
	opt := engine.Options{}
	if t.vectors != nil {
		opt.Layout = t.vectors.Layout
	}
	if t.cfg.Group != nil {
		opt.SplitUpdate, opt.BucketBytes = true, groupBucket
	}
	p, err := t.cfg.Engine.Compile(g, opt)
	if err != nil {
		return nil, err
	}
	if t.vectors == nil {
		t.vectors = p.Layout().NewVectors()
		if t.cfg.Group != nil {
			if err := t.joinGroup(p); err != nil {
				return nil, err
			}
		}
	}
	r, err := newRunner(p, t.vectors, t.cfg.Model, t.cfg.losses())
	if err == nil && t.cfg.Group != nil {
		r.OnBucket(t.handOn)
	}
	return r, err
}

// step trains on one batch.
func (t *Trainer) step(b *data.Batch) error {
	r, err := t.steps.of(len(b.Indices))
	if err != nil {
		return err
	}
	if err := r.load(b); err != nil {
		return err
	}
	optim.Hyper(r.hyper, t.state.Step, t.rate())
	at := engine.Step{Seed: t.cfg.Seed, Index: uint64(t.state.Step)}
	if err := r.Run(engine.All, at); err != nil {
		return t.explain(r, at, err)
	}
	t.state.Step++
	t.state.Cursor = b.Next
	r.count(&t.state.Running, b)
	r.count(&t.windowMetrics, b)
	return nil
}

// explain names the layer behind a number that is not finite.
func (t *Trainer) explain(r *runner, at engine.Step, err error) error {
	var bad *engine.NonFiniteError
	if !errors.As(err, &bad) {
		return fmt.Errorf("step %d: %w", t.state.Step+1, err)
	}
	return &DivergedError{Step: t.state.Step + 1, Err: located(r, at, err)}
}
