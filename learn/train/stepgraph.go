package train

import (
	"fmt"

	"millrace.dev/learn/graph"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/optim"
)

// The names that step graphs give their inputs and outputs besides the model's own inputs and
// optim.HyperInput. Those of a model's further outputs are numbered from 2: target_2, logits_2.
const (
	TargetInput  = "target"
	LossOutput   = "loss"
	LogitsOutput = "logits"
)

// numbered is the name that goes with the i-th output, counted from 0.
func numbered(name string, i int) string {
	if i == 0 {
		return name
	}
	return fmt.Sprintf("%s_%d", name, i+1)
}

// StepGraph is one training step of a model: forward, the sum of its outputs' losses, gradients,
// update. Unless the optimizer gives each param its decay, those that Model.Decays names have
// the rule's.
func StepGraph(m *nn.Model, batch int, losses []nn.Loss, opt optim.Optimizer) (*graph.Graph, error) {
	g := graph.New()
	l := lossGraph(g, m, batch, losses, nn.Train)
	if err := g.Err(); err != nil {
		return nil, err
	}
	if err := g.Train(l); err != nil {
		return nil, err
	}
	if opt.Decay == nil {
		opt.Decay = func(param string) float64 {
			if m.Decays(param) {
				return opt.Rule.Decay
			}
			return 0
		}
	}
	if err := opt.Apply(g); err != nil {
		return nil, err
	}
	return g, g.Err()
}

// EvalGraph is a forward pass with the losses, in evaluation mode.
func EvalGraph(m *nn.Model, batch int, losses []nn.Loss) (*graph.Graph, error) {
	g := graph.New()
	lossGraph(g, m, batch, losses, nn.Eval)
	return g, g.Err()
}

func lossGraph(g *graph.Graph, m *nn.Model, batch int, losses []nn.Loss, mode nn.Mode) *graph.Value {
	outputs := m.Graph(g, batch, mode).Outputs
	if len(losses) != len(outputs) {
		g.Fail(configErrorf("model %s has %d outputs, for which %d losses are given", m.Name, len(outputs), len(losses)))
	}
	if g.Err() != nil {
		return nil
	}
	var sum *graph.Value
	for i, out := range outputs {
		target := g.Input(numbered(TargetInput, i), losses[i].Target(out.Spec))
		l := losses[i].Apply(g, out, target)
		if sum == nil {
			sum = l
		} else {
			sum = g.Add(sum, l)
		}
		g.Output(numbered(LogitsOutput, i), out)
	}
	g.Output(LossOutput, sum)
	return sum
}
