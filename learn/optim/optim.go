package optim

import (
	"fmt"
	"strings"

	"millrace.dev/learn/graph"
)

// HyperInput is the name of the graph input that Optimizer.Apply declares.
const HyperInput = "hyper"

// Optimizer is a rule with its constants. Make one with SGD, Adam, AdamW, RMSProp or LARS and
// change fields as needed.
type Optimizer struct {
	Rule graph.UpdateAttr
	Clip float32 // bound on the norm of all gradients together; 0 for none
	// Decay gives the weight decay of a param, in the rule's place, so that groups of params may
	// have factors of their own and others none; nil for the rule's on all.
	Decay func(param string) float64
}

// SGD is stochastic gradient descent with momentum (0 for none).
func SGD(momentum float64) Optimizer {
	return Optimizer{Rule: graph.UpdateAttr{Kind: graph.SGD, Momentum: momentum}}
}

// Nesterov is SGD with Nesterov's momentum.
func Nesterov(momentum float64) Optimizer {
	o := SGD(momentum)
	o.Rule.Nesterov = true
	return o
}

// Adam is Kingma & Ba 2015 with β 0.9 and 0.999, ε 1e-8; weight decay is added to the gradient.
func Adam() Optimizer {
	return Optimizer{Rule: graph.UpdateAttr{Kind: graph.Adam, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}}
}

// AdamW is Adam with weight decay on the weights themselves (Loshchilov & Hutter 2019).
func AdamW(decay float64) Optimizer {
	o := Adam()
	o.Rule.Decay, o.Rule.Decoupled = decay, true
	return o
}

// RMSProp is Tieleman & Hinton 2012 with α 0.99, ε 1e-8 outside the root.
func RMSProp(momentum float64) Optimizer {
	return Optimizer{Rule: graph.UpdateAttr{Kind: graph.RMSProp, Momentum: momentum, Beta2: 0.99, Eps: 1e-8}}
}

// LARS scales each parameter's rate by ‖w‖/‖g‖ (You et al. 2017).
func LARS(momentum, decay float64) Optimizer {
	return Optimizer{Rule: graph.UpdateAttr{Kind: graph.LARS, Momentum: momentum, Decay: decay, Trust: 0.001, Eps: 1e-8}}
}

// byName are the optimizers as they are asked for on the command line.
var byName = []struct {
	name string
	make func() Optimizer
}{
	{"sgd", func() Optimizer { return SGD(0) }},
	{"momentum", func() Optimizer { return SGD(0.9) }},
	{"nesterov", func() Optimizer { return Nesterov(0.9) }},
	{"adam", Adam},
	{"adamw", func() Optimizer { return AdamW(0.01) }},
	{"rmsprop", func() Optimizer { return RMSProp(0) }},
	{"lars", func() Optimizer { return LARS(0.9, 1e-4) }},
}

// Names lists the optimizers that ByName knows.
func Names() []string {
	var names []string
	for _, o := range byName {
		names = append(names, o.name)
	}
	return names
}

// ByName makes an optimizer from its name.
func ByName(name string) (Optimizer, error) {
	for _, o := range byName {
		if o.name == name {
			return o.make(), nil
		}
	}
	return Optimizer{}, fmt.Errorf("unknown optimizer %q; known are %s", name, strings.Join(Names(), ", "))
}

// Apply appends the updates of every gradient of the graph, which Graph.Train has recorded, and
// declares the input "hyper". With Clip set the graph gets an output "gradient_norm".
func (o Optimizer) Apply(g *graph.Graph) error {
	if len(g.Grads) == 0 {
		return fmt.Errorf("optim: the graph has no gradients")
	}
	hyper := g.Input(HyperInput, graph.F32(graph.HyperLen))
	scale := g.Scalar(1)
	if o.Clip > 0 {
		grads := make([]*graph.Value, len(g.Grads))
		for i, d := range g.Grads {
			grads[i] = d.Value
		}
		var c []*graph.Value
		g.Scope("clip", func() { c = g.Apply("clip_scale", graph.ClipAttr{Max: o.Clip}, grads...) })
		g.Output("gradient_norm", c[0])
		scale = c[1]
	}
	for _, d := range g.Grads {
		rule := o.Rule
		if o.Decay != nil {
			rule.Decay = o.Decay(d.Param.Name)
		}
		in := []*graph.Value{hyper, scale, d.Param, d.Value}
		for k := range rule.Slots() {
			in = append(in, g.SlotState(d.Param, k))
		}
		g.Scope(d.Param.Name, func() { g.Apply("update", rule, in...) })
	}
	return g.Err()
}

// Hyper fills the hyper input for step t, counted from 0, at a learning rate.
func Hyper(dst []float32, t int, rate float64) {
	dst[graph.HyperLR] = float32(rate)
	dst[graph.HyperStep] = float32(t + 1)
	dst[graph.HyperScale] = 1
}
