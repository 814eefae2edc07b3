package graph

import (
	"fmt"
)

// UpdateKind names an optimiser's rule.
type UpdateKind string

// The rules, with w the parameter, g its gradient, lr the rate; see UpdateAttr for the rest.
//
//	SGD     g += λw;  v = μv + g;  w −= lr·v            (Nesterov: w −= lr·(g + μv))
//	Adam    g += λw (or, decoupled, w −= lr·λ·w first: AdamW);  m = β1m+(1−β1)g;
//	        s = β2s+(1−β2)g²;  w −= lr·m̂/(√ŝ+ε),  m̂ = m/(1−β1ᵗ), ŝ = s/(1−β2ᵗ)
//	RMSProp g += λw;  s = αs+(1−α)g²;  v = μv + g/(√s+ε);  w −= lr·v
//	LARS    r = η‖w‖/(‖g‖+λ‖w‖), 1 where a norm is 0;  v = μv + r·lr·(g+λw);  w −= v
const (
	SGD     UpdateKind = "sgd"
	Adam    UpdateKind = "adam"
	RMSProp UpdateKind = "rmsprop"
	LARS    UpdateKind = "lars"
)

// UpdateAttr holds a rule's constants.
type UpdateAttr struct {
	Kind      UpdateKind
	Momentum  float64 // μ of SGD, RMSProp, LARS; SGD and RMSProp keep no v where it is 0
	Nesterov  bool
	Beta1     float64 // of Adam
	Beta2     float64 // β2 of Adam, α of RMSProp
	Eps       float64 // ε of Adam and RMSProp
	Decay     float64 // λ
	Decoupled bool    // AdamW
	Trust     float64 // η of LARS
}

// Slots is how many states of the parameter's shape the rule keeps, in the order of the
// operands: SGD v; Adam m, s; RMSProp s, v; LARS v.
func (a UpdateAttr) Slots() int {
	switch a.Kind {
	case SGD:
		return btoi(a.Momentum != 0)
	case Adam:
		return 2
	case RMSProp:
		return 1 + btoi(a.Momentum != 0)
	default:
		return 1
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Hyper is the layout of the f32 vector that gives an update its numbers of the step.
const (
	HyperLR    = 0 // learning rate
	HyperStep  = 1 // t of Adam's bias correction, counted from 1
	HyperScale = 2 // every gradient is multiplied by it first; 1 usually
	HyperLen   = 3
)

var _ = builtin(
	// update: hyper [3], scale [], param, gradient, slots… → nothing. The gradient is multiplied by
	// hyper's scale and by the scale operand, a clipping factor. Overwrites param and slots.
	OpDef{
		Name:    "update",
		Mutates: []int{2, 4, 5},
		Infer: func(in []Spec, attr any) ([]Spec, error) {
			a, ok := attr.(UpdateAttr)
			if !ok {
				return nil, fmt.Errorf("wants a rule")
			}
			switch a.Kind {
			case SGD, Adam, RMSProp, LARS:
			default:
				return nil, fmt.Errorf("unknown rule %q", a.Kind)
			}
			if err := wantArgs(in, 4+a.Slots()); err != nil {
				return nil, err
			}
			if !in[0].Equal(F32(HyperLen)) || !in[1].Equal(F32()) {
				return nil, fmt.Errorf("wants f32[%d] and a scalar first", HyperLen)
			}
			for i, s := range in[3:] {
				if !s.Equal(in[2]) {
					return nil, fmt.Errorf("operand %d is %v, the parameter %v", i+3, s, in[2])
				}
			}
			return []Spec{}, nil
		},
	},
	// clip_scale: gradients… → norm [], min(1, Max/norm) []. The norm is over all of them
	// together; where it is not finite the factor is NaN, so that nothing bad is hidden.
	OpDef{
		Name: "clip_scale",
		Infer: func(in []Spec, attr any) ([]Spec, error) {
			if a, ok := attr.(ClipAttr); !ok || !(a.Max > 0) {
				return nil, fmt.Errorf("wants a positive bound")
			}
			return []Spec{F32(), F32()}, wantArgs(in, len(in))
		},
	},
)

// ClipAttr is the bound of "clip_scale".
type ClipAttr struct{ Max float32 }
