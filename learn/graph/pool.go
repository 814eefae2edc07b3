package graph

import (
	"fmt"

	"millrace.dev/learn/tensor"
)

// PoolAttr of the pooling operations. CountPad makes average pooling divide by the whole
// window, padding included; without it by the number of real pixels under the window. In is
// the input's shape, set on the gradients only.
type PoolAttr struct {
	Window
	Taps     [2]int // rows, columns
	CountPad bool
	Mask     bool // max_pool_grad: multiply by (third operand > 0), which has the result's shape
	In       tensor.Shape
}

var _ = builtin(
	// max_pool: x [N H W C] → y [N OH OW C], u8 tap index of each maximum (first one on a tie).
	// Padding never wins; NaN does.
	OpDef{
		Name: "max_pool",
		Infer: func(in []Spec, attr any) ([]Spec, error) {
			out, err := poolOut(in, attr, 1)
			if err != nil {
				return nil, err
			}
			if a := attr.(PoolAttr); a.Taps[0]*a.Taps[1] > 255 {
				return nil, fmt.Errorf("window of %d×%d taps is larger than 255", a.Taps[0], a.Taps[1])
			}
			return []Spec{{tensor.Float32, out}, {tensor.Uint8, out}}, nil
		},
		VJP: func(g *Graph, n *Node, dy []*Value) []*Value {
			a := n.Attr.(PoolAttr)
			a.In = n.In[0].Shape()
			return []*Value{g.Apply("max_pool_grad", a, dy[0], n.Out[1])[0]}
		},
	},
	// max_pool_grad: dy, tap index [, mask] → dx.
	OpDef{
		Name: "max_pool_grad",
		Infer: func(in []Spec, attr any) ([]Spec, error) {
			a, ok := attr.(PoolAttr)
			want := 2
			if a.Mask {
				want = 3
			}
			if !ok || len(in) != want || in[1].DType != tensor.Uint8 || a.Mask && !in[2].Equal(Spec{tensor.Float32, a.In}) {
				return nil, fmt.Errorf("wants gradient, tap index and maybe a mask")
			}
			return poolGrad(in[0], a)
		},
	},
	OpDef{
		Name: "avg_pool",
		Infer: func(in []Spec, attr any) ([]Spec, error) {
			out, err := poolOut(in, attr, 1)
			return []Spec{{tensor.Float32, out}}, err
		},
		VJP: func(g *Graph, n *Node, dy []*Value) []*Value {
			a := n.Attr.(PoolAttr)
			a.In = n.In[0].Shape()
			return []*Value{g.Apply("avg_pool_grad", a, dy[0])[0]}
		},
	},
	// avg_pool_grad: dy → dx.
	OpDef{
		Name: "avg_pool_grad",
		Infer: func(in []Spec, attr any) ([]Spec, error) {
			a, ok := attr.(PoolAttr)
			if len(in) != 1 || !ok {
				return nil, fmt.Errorf("wants a gradient")
			}
			return poolGrad(in[0], a)
		},
	},
)

func poolOut(in []Spec, attr any, n int) (tensor.Shape, error) {
	a, ok := attr.(PoolAttr)
	if err := wantArgs(in, n); err != nil || !ok {
		return nil, fmt.Errorf("wants an NHWC input: %v", err)
	}
	return poolShape(in[0].Shape, a)
}

func poolShape(x tensor.Shape, a PoolAttr) (tensor.Shape, error) {
	if len(x) != 4 {
		return nil, fmt.Errorf("wants an NHWC input, got %v", x)
	}
	out := x.Clone()
	for axis := range 2 {
		o, err := a.Out(axis, x[1+axis], a.Taps[axis])
		if err != nil {
			return nil, err
		}
		reach := a.Dilation[axis]*(a.Taps[axis]-1) + 1
		if a.Pad[2*axis] >= reach || a.Pad[2*axis+1] >= reach {
			return nil, fmt.Errorf("padding %d+%d is as large as the window: %d", a.Pad[2*axis], a.Pad[2*axis+1], reach)
		}
		out[1+axis] = o
	}
	return out, nil
}

func poolGrad(dy Spec, a PoolAttr) ([]Spec, error) {
	out, err := poolShape(a.In, a)
	if err == nil && !(Spec{tensor.Float32, out}).Equal(dy) {
		err = fmt.Errorf("gradient is %v, wants f32%v", dy, out)
	}
	return []Spec{{tensor.Float32, a.In}}, err
}

// MaxPool takes the maximum under each window position of an NHWC input.
func (g *Graph) MaxPool(x *Value, taps [2]int, w Window) *Value {
	return g.Apply("max_pool", PoolAttr{Window: w, Taps: taps}, x)[0]
}

// AvgPool takes the mean under each window position of an NHWC input; see PoolAttr.CountPad.
func (g *Graph) AvgPool(x *Value, taps [2]int, w Window, countPad bool) *Value {
	return g.Apply("avg_pool", PoolAttr{Window: w, Taps: taps, CountPad: countPad}, x)[0]
}
