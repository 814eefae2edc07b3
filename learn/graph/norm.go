package graph

import (
	"fmt"

	"millrace.dev/learn/tensor"
)

// NormAttr of batch and layer normalisation. Momentum is the weight of the new batch in batch
// norm's running statistics (PyTorch's convention): r ← (1−m)·r + m·batch, the batch variance
// taken unbiased there and biased everywhere else. Batch norm may add a residual (a last
// operand of x's shape) and then apply Act.
type NormAttr struct {
	Eps      float32
	Momentum float32
	Residual bool
	Act      Act
}

var _ = builtin(
	// batch_norm: x […C], γ, β, running mean, running variance [, residual] → y, batch mean, 1/√(var+ε).
	// Overwrites the running statistics. (Ioffe & Szegedy 2015, algorithm 1.)
	OpDef{
		Name:    "batch_norm",
		Mutates: []int{3, 4},
		Infer: func(in []Spec, attr any) ([]Spec, error) {
			if err := normArgs(in, attr, 5); err != nil {
				return nil, err
			}
			if in[0].Shape.Rows() < 2 {
				return nil, fmt.Errorf("batch statistics need at least two values a channel, got %d", in[0].Shape.Rows())
			}
			return []Spec{in[0], in[1], in[1]}, nil
		},
		VJP: func(g *Graph, n *Node, dys []*Value) []*Value {
			a, dy := n.Attr.(NormAttr), dys[0]
			if a.Act == ReLU {
				dy = g.Apply("unary_grad", UnaryAttr{Kind: Relu}, dy, n.Out[0])[0]
			}
			d := g.Apply("batch_norm_grad", NormGradAttr{}, dy, n.In[0], n.In[1], n.Out[1], n.Out[2])
			out := []*Value{d[0], d[1], d[2], nil, nil}
			if a.Residual {
				out = append(out, dy)
			}
			return out
		},
	},
	// batch_norm_grad: dy, x, γ, mean, rstd [, mask] → dx, dγ, dβ; with a mask dy counts where mask > 0.
	OpDef{
		Name: "batch_norm_grad",
		Infer: func(in []Spec, attr any) ([]Spec, error) {
			want := 5
			if a, ok := attr.(NormGradAttr); ok && a.Mask {
				want = 6
			}
			if err := wantArgs(in, want); err != nil {
				return nil, err
			}
			if !in[0].Equal(in[1]) || want == 6 && !in[5].Equal(in[1]) {
				return nil, fmt.Errorf("gradient, input and mask differ in shape")
			}
			if err := perChannel(in[1], in[2:5]); err != nil {
				return nil, err
			}
			return []Spec{in[1], in[2], in[2]}, nil
		},
	},
	// batch_norm_infer: x […C], γ, β, mean, variance [, residual] → y with the given statistics.
	OpDef{
		Name: "batch_norm_infer",
		Infer: func(in []Spec, attr any) ([]Spec, error) {
			if err := normArgs(in, attr, 5); err != nil {
				return nil, err
			}
			return in[:1], nil
		},
		VJP: batchNormInferVJP,
	},
	// layer_norm: x […D], γ, β → y, mean […], 1/√(var+ε) […]. (Ba et al. 2016.)
	OpDef{
		Name: "layer_norm",
		Infer: func(in []Spec, attr any) ([]Spec, error) {
			if err := normArgs(in, attr, 3); err != nil {
				return nil, err
			}
			if a := attr.(NormAttr); a.Residual || a.Act != NoAct {
				return nil, fmt.Errorf("adds no residual and applies no activation")
			}
			rows := Spec{tensor.Float32, in[0].Shape[:len(in[0].Shape)-1]}
			return []Spec{in[0], rows, rows}, nil
		},
		VJP: func(g *Graph, n *Node, dy []*Value) []*Value {
			return g.Apply("layer_norm_grad", nil, dy[0], n.In[0], n.In[1], n.Out[1], n.Out[2])[:3]
		},
	},
	// layer_norm_grad: dy, x, γ, mean, rstd → dx, dγ, dβ.
	OpDef{
		Name: "layer_norm_grad",
		Infer: func(in []Spec, _ any) ([]Spec, error) {
			if err := wantArgs(in, 5); err != nil {
				return nil, err
			}
			if !in[0].Equal(in[1]) || in[3].Shape.Elems() != in[1].Shape.Rows() || !in[3].Equal(in[4]) {
				return nil, fmt.Errorf("gradient, input and statistics do not fit")
			}
			return []Spec{in[1], in[2], in[2]}, perChannel(in[1], in[2:3])
		},
	},
)

// NormGradAttr of "batch_norm_grad".
type NormGradAttr struct{ Mask bool }

func normArgs(in []Spec, attr any, n int) error {
	a, ok := attr.(NormAttr)
	if !ok || !(a.Eps > 0) {
		return fmt.Errorf("wants a positive epsilon, got %+v", attr)
	}
	if a.Residual {
		n++
	}
	if err := wantArgs(in, n); err != nil {
		return err
	}
	if a.Residual && !in[n-1].Equal(in[0]) {
		return fmt.Errorf("residual %v differs from the input", in[n-1])
	}
	if a.Residual {
		n--
	}
	return perChannel(in[0], in[1:n])
}

func perChannel(x Spec, vs []Spec) error {
	if len(x.Shape) < 2 {
		return fmt.Errorf("input %v has no channel axis beside the batch", x)
	}
	for i, v := range vs {
		if len(v.Shape) != 1 || v.Shape[0] != x.Shape.Last() {
			return fmt.Errorf("operand %d after the input is %v, wants one number for each of %d channels", i+1, v, x.Shape.Last())
		}
	}
	return nil
}

// batchNormInferVJP treats the statistics as constants: y = γ·(x−mean)/√(var+ε) + β.
func batchNormInferVJP(g *Graph, n *Node, dys []*Value) []*Value {
	a, dy := n.Attr.(NormAttr), dys[0]
	x, gamma, mean, variance := n.In[0], n.In[1], n.In[3], n.In[4]
	if a.Act == ReLU {
		dy = g.Apply("unary_grad", UnaryAttr{Kind: Relu}, dy, n.Out[0])[0]
	}
	std := g.Unary(Sqrt, g.Add(variance, g.Scalar(a.Eps)))
	xhat := g.Div(g.Sub(x, mean), std)
	out := []*Value{
		g.Mul(dy, g.Div(gamma, std)),
		g.SumTo(g.Mul(dy, xhat), gamma.Shape()),
		g.SumTo(dy, gamma.Shape()),
		nil, nil,
	}
	if a.Residual {
		out = append(out, dy)
	}
	return out
}
