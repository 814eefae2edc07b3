package graph

import (
	"fmt"

	"millrace.dev/learn/tensor"
)

// NoIgnore as XentAttr.Ignore says that every label counts.
const NoIgnore = -1 << 31

// XentAttr of "softmax_xent": the target is (1−Smoothing)·onehot + Smoothing/classes; rows
// whose label is Ignore count neither in the loss nor in the mean.
type XentAttr struct {
	Smoothing float32
	Ignore    int32
}

// LossAttr of "loss".
type LossAttr struct {
	Kind  LossKind
	Delta float32 // where Huber turns from square to straight
}

// LossKind names an elementwise loss, averaged over all elements.
type LossKind string

// The elementwise losses. With d = prediction − target: MSE is d², Huber is d²/2 for |d| ≤ δ
// and δ·(|d|−δ/2) beyond. BCE is binary cross-entropy with the prediction as logit.
const (
	MSE   LossKind = "mse"
	BCE   LossKind = "bce"
	Huber LossKind = "huber"
)

var _ = builtin(
	OpDef{
		Name: "softmax", Infer: inferRows,
		VJP: func(g *Graph, n *Node, dy []*Value) []*Value {
			return []*Value{g.Apply("softmax_grad", nil, dy[0], n.Out[0])[0]}
		},
	},
	OpDef{Name: "softmax_grad", Infer: inferRowsPair}, // dy, y → dx
	OpDef{
		Name: "log_softmax", Infer: inferRows,
		VJP: func(g *Graph, n *Node, dy []*Value) []*Value {
			return []*Value{g.Apply("log_softmax_grad", nil, dy[0], n.Out[0])[0]}
		},
	},
	OpDef{Name: "log_softmax_grad", Infer: inferRowsPair}, // dy, y → dx
	// softmax_xent: logits […C], labels i32 […] → mean loss [], its gradient with respect to the
	// logits. A label outside 0..C-1 that is not Ignore is an error of the run; when every label
	// is ignored the loss and the gradient are 0.
	OpDef{
		Name: "softmax_xent",
		Infer: func(in []Spec, attr any) ([]Spec, error) {
			a, ok := attr.(XentAttr)
			if len(in) != 2 || !ok || in[0].DType != tensor.Float32 || in[1].DType != tensor.Int32 || len(in[0].Shape) == 0 {
				return nil, fmt.Errorf("wants f32 logits and i32 labels")
			}
			if !in[1].Shape.Equal(in[0].Shape[:len(in[0].Shape)-1]) || in[0].Shape.Last() < 1 {
				return nil, fmt.Errorf("labels do not match the logits' rows")
			}
			if !(a.Smoothing >= 0 && a.Smoothing < 1) {
				return nil, fmt.Errorf("label smoothing %v is outside [0, 1)", a.Smoothing)
			}
			return []Spec{F32(), in[0]}, nil
		},
		VJP: func(g *Graph, n *Node, dy []*Value) []*Value { return []*Value{g.Mul(n.Out[1], dy[0]), nil} },
	},
	// loss: prediction, target → mean loss [], its gradient with respect to the prediction. The
	// target is taken as given: no gradient flows into it.
	OpDef{
		Name: "loss",
		Infer: func(in []Spec, attr any) ([]Spec, error) {
			a, ok := attr.(LossAttr)
			if err := wantArgs(in, 2); err != nil || !ok {
				return nil, fmt.Errorf("wants prediction and target: %v", err)
			}
			if !in[0].Equal(in[1]) || in[0].Shape.Elems() == 0 {
				return nil, fmt.Errorf("prediction and target differ in shape or are empty")
			}
			if a.Kind != MSE && a.Kind != BCE && a.Kind != Huber || a.Kind == Huber && !(a.Delta > 0) {
				return nil, fmt.Errorf("unknown loss %+v", a)
			}
			return []Spec{F32(), in[0]}, nil
		},
		VJP: func(g *Graph, n *Node, dy []*Value) []*Value { return []*Value{g.Mul(n.Out[1], dy[0]), nil} },
	},
)

func inferRows(in []Spec, _ any) ([]Spec, error) {
	if err := wantArgs(in, 1); err != nil {
		return nil, err
	}
	if in[0].Shape.Last() < 1 {
		return nil, fmt.Errorf("rows are empty")
	}
	return in[:1], nil
}

func inferRowsPair(in []Spec, _ any) ([]Spec, error) {
	if err := wantArgs(in, 2); err != nil {
		return nil, err
	}
	if !in[0].Equal(in[1]) {
		return nil, fmt.Errorf("operands differ in shape")
	}
	return in[:1], nil
}

// Softmax normalises the last axis.
func (g *Graph) Softmax(x *Value) *Value { return g.Apply("softmax", nil, x)[0] }

// LogSoftmax is the logarithm of Softmax.
func (g *Graph) LogSoftmax(x *Value) *Value { return g.Apply("log_softmax", nil, x)[0] }

// SoftmaxXent is the mean cross-entropy of labels under softmax(logits).
func (g *Graph) SoftmaxXent(logits, labels *Value, a XentAttr) *Value {
	return g.Apply("softmax_xent", a, logits, labels)[0]
}

// Loss is a mean elementwise loss.
func (g *Graph) Loss(pred, target *Value, a LossAttr) *Value {
	return g.Apply("loss", a, pred, target)[0]
}
