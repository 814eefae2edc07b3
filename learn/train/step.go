package train

import (
	"context"
	"errors"
	"fmt"

	"millrace.dev/learn/data"
	"millrace.dev/learn/engine"
	"millrace.dev/learn/optim"
)

// compileStep makes the runner of a training step. The first one fixes the vectors' layout.
func (t *Trainer) compileStep(batch int) (*runner, error) {
	g, err := StepGraph(t.cfg.Model, batch, t.cfg.Loss, t.cfg.Optimizer)
	if err != nil {
		return nil, err
	}
	opt := engine.Options{}
	if t.vectors != nil {
		opt.Layout = t.vectors.Layout
	}
	if t.cfg.Reducer != nil {
		opt.SplitUpdate, opt.BucketBytes = true, reduceBucket
	}
	p, err := t.cfg.Engine.Compile(g, opt)
	if err != nil {
		return nil, err
	}
	if t.vectors == nil {
		t.vectors = p.Layout().NewVectors()
	}
	r, err := newRunner(p, t.vectors, t.cfg.Model)
	if err == nil && t.cfg.Reducer != nil {
		r.OnBucket(func(b engine.Range) { t.cfg.Reducer.Ready(b.Lo, t.vectors.Grads[b.Lo:b.Hi]) })
	}
	return r, err
}

// step trains on one batch.
func (t *Trainer) step(ctx context.Context, b *data.Batch) error {
	r, err := t.steps.of(len(b.Indices))
	if err != nil {
		return err
	}
	copy(r.x, b.X)
	copy(r.y, b.Y)
	optim.Hyper(r.hyper, t.state.Step, t.rate())
	at := engine.Step{Seed: t.cfg.Seed, Index: uint64(t.state.Step)}
	if err := t.update(ctx, r, at); err != nil {
		return t.explain(r, at, err)
	}
	t.state.Step++
	t.state.Cursor = b.Next
	t.state.Running.add(float64(r.loss[0]), r.logits, r.y, t.cfg.Loss.Ignore)
	t.windowMetrics.add(float64(r.loss[0]), r.logits, r.y, t.cfg.Loss.Ignore)
	return nil
}

// update runs the step's program, with the reducer between gradients and updates.
func (t *Trainer) update(ctx context.Context, r *runner, at engine.Step) error {
	if t.cfg.Reducer == nil {
		return r.Run(engine.All, at)
	}
	if err := r.Run(engine.Backward, at); err != nil {
		return err
	}
	if err := t.cfg.Reducer.Wait(ctx); err != nil {
		return err
	}
	return r.Run(engine.Update, at)
}

// explain names the layer behind a number that is not finite.
func (t *Trainer) explain(r *runner, at engine.Step, err error) error {
	var bad *engine.NonFiniteError
	if !errors.As(err, &bad) {
		return fmt.Errorf("step %d: %w", t.state.Step+1, err)
	}
	return &DivergedError{Step: t.state.Step + 1, Err: located(r, at, err)}
}
