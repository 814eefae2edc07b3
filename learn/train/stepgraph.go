package train

import (
	"millrace.dev/learn/graph"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/optim"
)

// The names that step graphs give their inputs and outputs besides the model's own inputs and
// optim.HyperInput.
const (
	TargetInput  = "target"
	LossOutput   = "loss"
	LogitsOutput = "logits"
)

// StepGraph is one training step of a model's first output: forward, loss, gradients, update.
// Unless the optimizer gives each param its decay, those that Model.Decays names have the rule's.
func StepGraph(m *nn.Model, batch int, loss nn.Loss, opt optim.Optimizer) (*graph.Graph, error) {
	g := graph.New()
	l := lossGraph(g, m, batch, loss, nn.Train)
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

// EvalGraph is a forward pass with the loss, in evaluation mode.
func EvalGraph(m *nn.Model, batch int, loss nn.Loss) (*graph.Graph, error) {
	g := graph.New()
	lossGraph(g, m, batch, loss, nn.Eval)
	return g, g.Err()
}

func lossGraph(g *graph.Graph, m *nn.Model, batch int, loss nn.Loss, mode nn.Mode) *graph.Value {
	out := m.Graph(g, batch, mode).Outputs[0]
	if g.Err() != nil {
		return nil
	}
	target := g.Input(TargetInput, loss.Target(out.Spec))
	l := loss.Apply(g, out, target)
	g.Output(LossOutput, l)
	g.Output(LogitsOutput, out)
	return l
}
