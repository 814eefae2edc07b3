package nn

import (
	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
)

// Loss turns a model's output and a target into the number that training lowers. The zero value
// is cross-entropy.
type Loss struct {
	Kind      LossKind
	Smoothing float32 `json:",omitempty"` // of CrossEntropy: share of the target spread over all classes
	Ignore    *int32  `json:",omitempty"` // of CrossEntropy: label that does not count
	Delta     float32 `json:",omitempty"` // of Huber
	Weight    float32 `json:",omitempty"` // factor in the sum of the losses of several outputs; 0 for 1
}

// LossKind names a loss.
type LossKind string

// The losses; all but CrossEntropy take a float32 target of the prediction's shape.
const (
	CrossEntropy LossKind = "cross_entropy" // softmax over logits, int32 labels
	MSE          LossKind = LossKind(graph.MSE)
	BCE          LossKind = LossKind(graph.BCE) // the prediction is a logit
	Huber        LossKind = LossKind(graph.Huber)
)

// Classifies reports whether the targets are class labels.
func (l Loss) Classifies() bool { return l.Kind == CrossEntropy || l.Kind == "" }

// Target is the spec of the target for a prediction.
func (l Loss) Target(pred graph.Spec) graph.Spec {
	if l.Classifies() {
		return graph.Spec{DType: tensor.Int32, Shape: pred.Shape[:max(len(pred.Shape)-1, 0)]}
	}
	return pred
}

// Apply appends the loss to g, under the path "loss".
func (l Loss) Apply(g *graph.Graph, pred, target *graph.Value) (v *graph.Value) {
	g.Scope("loss", func() {
		if v = l.apply(g, pred, target); l.Weight != 0 && l.Weight != 1 {
			v = g.Mul(v, g.Scalar(l.Weight))
		}
	})
	return v
}

func (l Loss) apply(g *graph.Graph, pred, target *graph.Value) *graph.Value {
	if l.Classifies() {
		a := graph.XentAttr{Smoothing: l.Smoothing, Ignore: graph.NoIgnore}
		if l.Ignore != nil {
			a.Ignore = *l.Ignore
		}
		return g.SoftmaxXent(pred, target, a)
	}
	return g.Loss(pred, target, graph.LossAttr{Kind: graph.LossKind(l.Kind), Delta: l.Delta})
}
