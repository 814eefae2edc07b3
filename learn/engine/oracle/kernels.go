package oracle

import (
	"fmt"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
)

// call is one execution of a node.
type call struct {
	node    *graph.Node
	in, out []*array
	step    engine.Step
}

func (c *call) attr() any { return c.node.Attr }

// kernels compute the outputs from the inputs; they overwrite only the inputs that the
// operation's definition lists.
var kernels = map[string]func(*call) error{
	"unary": unary, "unary_grad": unaryGrad, "binary": binary, "cast": cast,
	"reduce": reduce, "broadcast": broadcast,
	"matmul": matmul, "conv2d": conv2d, "conv2d_grad_x": convGradX, "conv2d_grad_w": convGradW,
	"max_pool": maxPool, "max_pool_grad": maxPoolGrad, "avg_pool": avgPool, "avg_pool_grad": avgPoolGrad,
	"batch_norm": batchNorm, "batch_norm_grad": batchNormGrad, "batch_norm_infer": batchNormInfer,
	"layer_norm": layerNorm, "layer_norm_grad": layerNormGrad,
	"softmax": softmax, "softmax_grad": softmaxGrad,
	"log_softmax": logSoftmax, "log_softmax_grad": logSoftmaxGrad,
	"softmax_xent": softmaxXent, "loss": loss,
	"transpose": transpose, "slice": slice, "pad": pad, "concat": concat,
	"gather": gather, "scatter_add": scatterAdd,
	"dropout": dropout, "update": update, "clip_scale": clipScale,
}

// rounders round a number to what a floating-point type holds.
var rounders = map[tensor.DType]func(float64) float64{
	tensor.Float32:  func(x float64) float64 { return x },
	tensor.Float16:  roundHalf,
	tensor.BFloat16: roundBrain,
}

// kernelOf finds what executes a node: a kernel, or a registered operation's own Forward.
func kernelOf(n *graph.Node) (func(*call) error, error) {
	if k := kernels[n.Op]; k != nil {
		return k, nil
	}
	def, ok := graph.Lookup(n.Op)
	if !ok || def.Forward == nil {
		return nil, fmt.Errorf("oracle: %s: operation %q has no code", n.Path, n.Op)
	}
	return func(c *call) error { return forward(def, c) }, nil
}

// forward runs a user's code on tensors of the values' own types.
func forward(def graph.OpDef, c *call) error {
	in, err := tensorsOf(c.in)
	if err != nil {
		return err
	}
	out, err := tensorsOf(c.out)
	if err != nil {
		return err
	}
	if err := def.Forward(c.attr(), in, out); err != nil {
		return err
	}
	for k, t := range out {
		c.out[k].load(t)
	}
	for _, k := range def.Mutates {
		if k < len(in) {
			c.in[k].load(in[k])
		}
	}
	return nil
}

func tensorsOf(arrays []*array) ([]*tensor.Tensor, error) {
	ts := make([]*tensor.Tensor, len(arrays))
	for k, a := range arrays {
		t, err := tensor.New(a.spec.DType, a.shape()...)
		if err != nil {
			return nil, err
		}
		a.store(t)
		ts[k] = t
	}
	return ts, nil
}
