package cpu

import (
	"fmt"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/internal/vec"
	"millrace.dev/learn/tensor"
)

// grain is the number of elements that one chunk of an elementwise op handles: enough to be
// worth a hand-over to another thread.
const grain = 1 << 15

// lowerings make ops of nodes; sources and reshapes make none.
var lowerings = map[string]func(c *compiler, n *graph.Node) (*op, error){
	"matmul":           lowerMatMul,
	"conv2d":           lowerConv,
	"conv2d_grad_x":    lowerConv,
	"conv2d_grad_w":    lowerConv,
	"unary":            lowerUnary,
	"unary_grad":       lowerUnaryGrad,
	"binary":           lowerBinary,
	"dropout":          lowerDropout,
	"cast":             lowerCast,
	"reduce":           lowerReduce,
	"broadcast":        lowerBroadcast,
	"transpose":        lowerTranspose,
	"slice":            lowerSlice,
	"pad":              lowerPad,
	"concat":           lowerConcat,
	"gather":           lowerGather,
	"scatter_add":      lowerScatterAdd,
	"max_pool":         lowerMaxPool,
	"max_pool_grad":    lowerMaxPoolGrad,
	"avg_pool":         lowerAvgPool,
	"avg_pool_grad":    lowerAvgPoolGrad,
	"batch_norm":       lowerBatchNorm,
	"batch_norm_grad":  lowerBatchNormGrad,
	"batch_norm_infer": lowerBatchNormInfer,
	"layer_norm":       lowerLayerNorm,
	"layer_norm_grad":  lowerLayerNormGrad,
	"softmax":          lowerSoftmax,
	"log_softmax":      lowerSoftmax,
	"softmax_grad":     lowerSoftmaxGrad,
	"log_softmax_grad": lowerSoftmaxGrad,
	"softmax_xent":     lowerXent,
	"loss":             lowerLoss,
	"clip_scale":       lowerClip,
	"update":           lowerUpdate,
}

// lower makes the op of a node, nil for a node that needs none.
func (c *compiler) lower(n *graph.Node) (*op, error) {
	switch n.Op {
	case "input", "param", "state", "const", "reshape":
		return nil, nil
	}
	if f := lowerings[n.Op]; f != nil {
		o, err := f(c, n)
		if o != nil {
			o.node = n
		}
		return o, err
	}
	return lowerCustom(n)
}

// lowerCustom runs a user's operation by its own Forward.
func lowerCustom(n *graph.Node) (*op, error) {
	def, ok := graph.Lookup(n.Op)
	if !ok || def.Forward == nil {
		return nil, fmt.Errorf("the cpu engine does not know this operation")
	}
	return &op{node: n, kernel: "forward", bind: func(b *binding) bound {
		var failed error
		in, out := b.tensors(n.In), b.tensors(n.Out)
		return bound{
			phases: once(func() { failed = def.Forward(n.Attr, in, out) }),
			check:  func() error { return failed },
		}
	}}, nil
}

func (b *binding) tensors(vs []*graph.Value) []*tensor.Tensor {
	out := make([]*tensor.Tensor, len(vs))
	for i, v := range vs {
		out[i] = b.tensor(v)
	}
	return out
}

// once is a single phase of a single chunk.
func once(f func()) []phase { return []phase{{1, func(int, int) { f() }}} }

// over cuts n items, each of the given number of elements, into chunks of about grain elements.
func over(n, elems int, f func(lo, hi int)) []phase {
	return []phase{chunked(n, elems, func(_, lo, hi int) { f(lo, hi) })}
}

// chunked is over's phase; f also gets the chunk's number.
func chunked(n, elems int, f func(chunk, lo, hi int)) phase {
	size := chunkSize(n, elems)
	return phase{chunkCount(n, size), func(_, chunk int) {
		lo := chunk * size
		f(chunk, lo, min(lo+size, n))
	}}
}

// chunkSize is how many of n items, each of elems elements, one chunk takes.
func chunkSize(n, elems int) int {
	size := max(grain/max(elems, 1), 1)
	return max(size, (n+maxChunks-1)/maxChunks)
}

// chunkCount is at least one, so that an empty op still runs.
func chunkCount(n, size int) int { return max((n+size-1)/size, 1) }

const copyGradOp = "copy_grad"

// copyGrad copies a gradient that stands elsewhere into its place in the gradient vector.
func copyGrad(d graph.Grad) *op {
	n := &graph.Node{Op: copyGradOp, Path: d.Param.Name, In: []*graph.Value{d.Value}, Attr: d.Param.Name}
	return &op{node: n, kernel: "copy", bind: func(b *binding) bound {
		src, dst := b.f32(d.Value), b.vectors.Grad(d.Param.Name)
		return bound{phases: over(len(dst), 1, func(lo, hi int) { copy(dst[lo:hi], src[lo:hi]) })}
	}}
}

// finiteCheck fails when the scalar at x is not finite.
func finiteCheck(what string, x []float32) func() error {
	return func() error {
		if vec.Finite(x[:1]) >= 0 {
			return &engine.NonFiniteError{What: what, Value: float64(x[0])}
		}
		return nil
	}
}
