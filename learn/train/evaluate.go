package train

import (
	"context"
	"errors"
	"io"

	"millrace.dev/learn/data"
	"millrace.dev/learn/engine"
	"millrace.dev/learn/nn"
)

// What a batch of an evaluation has at most: samples, and values, so that large images take no
// more memory than a training step does.
const (
	evalBatch  = 250
	evalValues = 1 << 20
)

// evalBatchOf is the batch size of evaluations of a data set.
func evalBatchOf(ds data.Dataset) int {
	return max(min(evalBatch, evalValues/data.SampleSize(ds), ds.Len()), 1)
}

// Evaluator measures a model on data sets.
type Evaluator struct {
	runners *runners
	model   *nn.Model
	losses  []nn.Loss
}

// NewEvaluator makes an evaluator of the model whose weights are in v, with a loss for each of
// its outputs.
func NewEvaluator(e engine.Engine, m *nn.Model, losses []nn.Loss, v *engine.Vectors) *Evaluator {
	return &Evaluator{model: m, losses: losses, runners: newRunners(func(batch int) (*runner, error) {
		g, err := EvalGraph(m, batch, losses)
		if err != nil {
			return nil, err
		}
		p, err := e.Compile(g, engine.Options{Layout: v.Layout})
		if err != nil {
			return nil, err
		}
		return newRunner(p, v, m, losses)
	})}
}

// Each gets a batch of an evaluation and what the model gives for it: for each of its outputs a
// row a sample. Both are valid during the call.
type Each func(b *data.Batch, outputs [][]float32)

// MaxConfusion is the number of classes up to which Evaluate counts a confusion matrix, whose
// size is their square: 8 MB at most.
const MaxConfusion = 1000

// Evaluate runs over a whole data set, in order, and gives every batch to each unless that is
// nil. A short last batch runs as a program of its own size, so that every sample counts once.
// For a data set with classes, up to MaxConfusion, the confusion matrix is counted as well.
func (ev *Evaluator) Evaluate(ctx context.Context, ds data.Dataset, each Each) (Metrics, error) {
	var m Metrics
	if classes := len(ds.Classes()); classes > 0 && classes <= MaxConfusion {
		m.Confusion = make([][]int, classes)
		for i := range m.Confusion {
			m.Confusion[i] = make([]int, classes)
		}
	}
	err := ev.measure(ctx, ds, each, &m)
	return m, err
}

// measure adds a whole data set to the metrics; without a confusion matrix in them none is
// counted.
func (ev *Evaluator) measure(ctx context.Context, ds data.Dataset, each Each, m *Metrics) error {
	if err := fits(ev.model, ev.losses, ds); err != nil {
		return err
	}
	loader, err := data.NewLoader(ds, data.LoaderOptions{
		Plan: data.Plan{Batch: evalBatchOf(ds)}, Epochs: 1, Workers: 1,
	})
	if err != nil {
		return err
	}
	defer loader.Close()
	for {
		b, err := loader.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		r, err := ev.runners.of(len(b.Indices))
		if err != nil {
			return err
		}
		if err := r.load(b); err != nil {
			return err
		}
		if err := r.Run(engine.All, engine.Step{}); err != nil {
			return located(r, engine.Step{}, err)
		}
		r.count(m, b)
		if each != nil {
			each(b, r.outputs)
		}
	}
}
