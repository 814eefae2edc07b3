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
	model   *nn.Model
	ignore  *int32
}

// NewEvaluator makes an evaluator of the model whose weights are in v.
func NewEvaluator(e engine.Engine, m *nn.Model, loss nn.Loss, v *engine.Vectors) *Evaluator {
	return &Evaluator{model: m, ignore: loss.Ignore, runners: newRunners(func(batch int) (*runner, error) {
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

// Each gets a batch of an evaluation: the samples' places in the data set, their labels, and
// the logits, a row a sample. The slices are valid during the call.
type Each func(indices []int, labels []int32, logits []float32)

// MaxConfusion is the number of classes up to which Evaluate counts a confusion matrix, whose
// size is their square: 8 MB at most.
const MaxConfusion = 1000

// Evaluate runs over a whole data set, in order, and gives every batch to each unless that is
// nil. A short last batch runs as a program of its own size, so that every sample counts once.
// The confusion matrix is counted as well, for up to MaxConfusion classes.
func (ev *Evaluator) Evaluate(ctx context.Context, ds data.Dataset, each Each) (Metrics, error) {
	var m Metrics
	if classes := len(ds.Classes()); classes <= MaxConfusion {
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
	if err := Fits(ev.model, ds); err != nil {
		return err
	}
	loader, err := data.NewLoader(ds, data.LoaderOptions{
		Plan: data.Plan{Batch: min(evalBatch, ds.Len())}, Epochs: 1, Workers: 1,
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
		copy(r.x, b.X)
		copy(r.y, b.Y)
		if err := r.Run(engine.All, engine.Step{}); err != nil {
			return located(r, engine.Step{}, err)
		}
		m.add(float64(r.loss[0]), r.logits, r.y, ev.ignore)
		if each != nil {
			each(b.Indices, r.y, r.logits)
		}
	}
}
