package saved

import (
	"fmt"
	"slices"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/tensor"
)

// Predictor gives what a model makes of one sample at a time. It is used by one goroutine at a
// time; several predictors of one model may run at once.
type Predictor struct {
	model   *Model
	run     engine.Replica
	inputs  tensor.Columns
	sample  []float32
	outputs [][]float32
	result  []float32 // the outputs one after the other
}

// NewPredictor compiles the model for predictions.
func NewPredictor(e engine.Engine, m *Model) (*Predictor, error) {
	g := graph.New()
	outputs := m.Net.Graph(g, 1, nn.Eval).Outputs
	for i, out := range outputs {
		if len(m.Classes) > 0 {
			out = g.Softmax(out)
		}
		g.Output(outputName(i), out)
	}
	if err := g.Err(); err != nil {
		return nil, err
	}
	program, err := e.Compile(g, engine.Options{Layout: m.Vectors.Layout})
	if err != nil {
		return nil, err
	}
	r, err := program.NewReplica(m.Vectors)
	if err != nil {
		return nil, err
	}
	p := &Predictor{model: m, run: r}
	var inputs []*tensor.Tensor
	for i := range m.Net.NumInputs() {
		inputs = append(inputs, r.Input(m.Net.InputName(i)))
	}
	if p.inputs, err = tensor.NewColumns(inputs...); err != nil {
		return nil, err
	}
	p.sample = make([]float32, p.inputs.Width())
	for i := range outputs {
		p.outputs = append(p.outputs, r.Output(outputName(i)).F32())
	}
	return p, nil
}

func outputName(i int) string { return fmt.Sprintf("output_%d", i) }

// Predict takes a sample whose values are not yet normalised, those of several inputs one after
// the other, and gives the probability of each class, or, from a model without classes, its
// outputs one after the other. The result is valid until the next call.
func (p *Predictor) Predict(sample []float32) ([]float32, error) {
	if len(sample) != len(p.sample) {
		return nil, fmt.Errorf("a sample of %d values, model %s takes %v", len(sample), p.model.Net.Name, p.model.shape())
	}
	copy(p.sample, sample)
	if len(p.model.Norm.Mean) > 0 {
		p.model.Norm.Apply(p.sample)
	}
	if err := p.inputs.Put(p.sample); err != nil {
		return nil, err
	}
	if err := p.run.Run(engine.All, engine.Step{}); err != nil {
		return nil, err
	}
	p.result = p.result[:0]
	for _, out := range p.outputs {
		p.result = append(p.result, out...)
	}
	return p.result, nil
}

// Guess is a class and its probability.
type Guess struct {
	Class       string  `json:"class"`
	Probability float32 `json:"probability"`
}

// Best gives the k most probable classes, the most probable first.
func (m *Model) Best(probabilities []float32, k int) []Guess {
	all := make([]Guess, len(probabilities))
	for i, p := range probabilities {
		all[i] = Guess{m.Classes[i], p}
	}
	slices.SortStableFunc(all, func(a, b Guess) int {
		switch {
		case a.Probability > b.Probability:
			return -1
		case a.Probability < b.Probability:
			return 1
		}
		return 0
	})
	return all[:min(k, len(all))]
}
