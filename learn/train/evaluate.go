package train

import (
	"context"
	"errors"
	"io"

	"millrace.dev/learn/data"
	"millrace.dev/learn/engine"
	"millrace.dev/learn/nn"
)

// evalBatch is the batch size of evaluations.
const evalBatch = 250

// Evaluator measures a model on data sets.
type Evaluator struct {
	runners *runners
	classes int
}

// NewEvaluator makes an evaluator of the model whose weights are in v.
func NewEvaluator(e engine.Engine, m *nn.Model, loss nn.Loss, v *engine.Vectors) *Evaluator {
	return &Evaluator{classes: m.OutputShape(0).Last(), runners: newRunners(func(batch int) (*runner, error) {
		g, err := EvalGraph(m, batch, loss)
		if err != nil {
			return nil, err
		}
		p, err := e.Compile(g, engine.Options{Layout: v.Layout})
		if err != nil {
			return nil, err
		}
		return newRunner(p, v, m)
	})}
}

// Evaluate runs over a whole data set, in order. each, if not nil, gets every batch's indices,
// labels and logits.
func (ev *Evaluator) Evaluate(ctx context.Context, ds data.Dataset, each func(indices []int, labels []int32, logits []float32)) (Metrics, error) {
	m := Metrics{Confusion: make([][]int, ev.classes)}
	for i := range m.Confusion {
		m.Confusion[i] = make([]int, ev.classes)
	}
	loader, err := data.NewLoader(ds, data.LoaderOptions{
		Plan: data.Plan{Batch: min(evalBatch, ds.Len())}, Epochs: 1, Workers: 1,
	})
	if err != nil {
		return m, err
	}
	defer loader.Close()
	for {
		b, err := loader.Next(ctx)
		if errors.Is(err, io.EOF) {
			return m, nil
		}
		if err != nil {
			return m, err
		}
		r, err := ev.runners.of(len(b.Indices))
		if err != nil {
			return m, err
		}
		copy(r.x, b.X)
		copy(r.y, b.Y)
		if err := r.Run(engine.All, engine.Step{}); err != nil {
			return m, err
		}
		m.add(float64(r.loss[0]), r.logits, r.y)
		if each != nil {
			each(b.Indices, r.y, r.logits)
		}
	}
}
