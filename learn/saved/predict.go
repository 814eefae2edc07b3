package saved

import (
	"fmt"
	"slices"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/nn"
)

// Predictor gives probabilities for one sample at a time. It is used by one goroutine at a time;
// several predictors of one model may run at once.
type Predictor struct {
	model *Model
	run   engine.Replica
	x, p  []float32
}

// NewPredictor compiles the model for predictions.
func NewPredictor(e engine.Engine, m *Model) (*Predictor, error) {
	g := graph.New()
	out := m.Net.Graph(g, 1, nn.Eval).Outputs[0]
	if err := g.Err(); err != nil {
		return nil, err
	}
	g.Output("probabilities", g.Softmax(out))
	program, err := e.Compile(g, engine.Options{Layout: m.Vectors.Layout})
	if err != nil {
		return nil, err
	}
	r, err := program.NewReplica(m.Vectors)
	if err != nil {
		return nil, err
	}
	return &Predictor{m, r, r.Input(m.Net.InputName(0)).F32(), r.Output("probabilities").F32()}, nil
}

// Predict gives the probability of each class for a sample whose values are not yet normalised.
// The result is valid until the next call.
func (p *Predictor) Predict(sample []float32) ([]float32, error) {
	if len(sample) != len(p.x) {
		return nil, fmt.Errorf("a sample of %d values, model %s takes %v", len(sample), p.model.Net.Name, p.model.Net.InputShape(0))
	}
	copy(p.x, sample)
	p.model.Norm.Apply(p.x)
	return p.p, p.run.Run(engine.All, engine.Step{})
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
