package enginetest

import (
	"math"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
)

// hyperInput names the input with the numbers of a step that every updating net has.
const hyperInput = "hyper"

// net is a whole model: build returns its loss.
type net struct {
	name  string
	build func(b *Builder) *graph.Value
}

func nets() []net {
	return []net{{"mlp", mlp}, {"lenet", lenet}, {"residual", residual}, {"two ends", twoEnds}}
}

// trained makes the net's graph with gradients and one update a param; clip bounds the norm of
// the gradients when it is positive.
func (n net) trained(rule graph.UpdateAttr, clip float32) (*Builder, error) {
	b := NewBuilder(n.name)
	loss := n.build(b)
	b.Output("loss", loss)
	if err := b.Train(loss); err != nil {
		return nil, err
	}
	b.update(rule, clip)
	return b, b.Err()
}

func (b *Builder) update(rule graph.UpdateAttr, clip float32) {
	hyper := b.Input(hyperInput, graph.F32(graph.HyperLen))
	b.setStep(0, 0.05)
	scale := b.Scalar(1)
	if clip > 0 {
		grads := []*graph.Value{}
		for _, d := range b.Grads {
			grads = append(grads, d.Value)
		}
		out := b.Apply("clip_scale", graph.ClipAttr{Max: clip}, grads...)
		b.Output("norm", out[0])
		scale = out[1]
	}
	for _, d := range b.Grads {
		ops := []*graph.Value{hyper, scale, d.Param, d.Value}
		for k := range rule.Slots() {
			ops = append(ops, b.SlotState(d.Param, k))
		}
		b.Apply("update", rule, ops...)
	}
}

// setStep gives the updates the numbers of step index, counted from 0.
func (b *Builder) setStep(index uint64, rate float32) {
	b.Floats[hyperInput] = []float32{graph.HyperLR: rate, graph.HyperStep: float32(index + 1), graph.HyperScale: 1}
}

// train runs steps and returns their losses.
func (r *run) train(b *Builder, steps int, rate float32) ([]float64, error) {
	losses := []float64{}
	for i := range uint64(steps) {
		b.setStep(i, rate)
		copy(r.replica.Input(hyperInput).F32(), b.Floats[hyperInput])
		if err := r.replica.Run(engine.All, engine.Step{Seed: 3, Index: i}); err != nil {
			return nil, err
		}
		losses = append(losses, float64(r.replica.Output("loss").F32()[0]))
	}
	return losses, nil
}

// weights is a param of normally distributed numbers scaled for the number of inputs.
func (b *Builder) weights(inputs int, shape ...int) *graph.Value {
	std := math.Sqrt(2 / float64(inputs))
	return b.fill(b.Param(b.name("w"), shape...), func(int) float64 { return std * b.rnd.NormFloat64() })
}

func (b *Builder) bias(n int) *graph.Value {
	return b.fill(b.Param(b.name("b"), n), func(int) float64 { return 0.1 * b.rnd.NormFloat64() })
}

func (b *Builder) relu(x *graph.Value) *graph.Value { return b.Unary(graph.Relu, x) }

// dense is x·w + b of the last axis, whatever the others.
func (b *Builder) dense(x *graph.Value, out int) *graph.Value {
	in := x.Shape().Last()
	return b.affine(x, b.weights(in, in, out), b.bias(out))
}

func (b *Builder) affine(x, w, bias *graph.Value) *graph.Value {
	shape := x.Shape().Clone()
	shape[len(shape)-1] = w.Shape()[1]
	y := b.MatMul(b.Reshape(x, x.Shape().Rows(), x.Shape().Last()), w)
	return b.Add(b.Reshape(y, shape...), bias)
}

// conv convolves with SAME padding.
func (b *Builder) conv(x *graph.Value, taps, stride, out int) *graph.Value {
	in := x.Shape()
	win := graph.Window{Stride: [2]int{stride, stride}, Dilation: unit}.Same(in[1], in[2], taps, taps)
	return b.Conv2D(x, b.weights(taps*taps*in[3], taps, taps, in[3], out), win, 1)
}

func (b *Builder) norm(x *graph.Value) *graph.Value {
	return b.batchNorm("batch_norm", graph.NormAttr{Eps: 1e-5, Momentum: 0.1}, x)
}

func (b *Builder) pool(x *graph.Value) *graph.Value {
	return b.MaxPool(x, two, graph.Window{Stride: two, Dilation: unit})
}

func (b *Builder) xent(logits *graph.Value) *graph.Value {
	s := logits.Shape()
	return b.SoftmaxXent(logits, b.Below(s.Last(), s[:len(s)-1]...), graph.XentAttr{Ignore: graph.NoIgnore})
}

func (b *Builder) flat(x *graph.Value) *graph.Value {
	return b.Reshape(x, x.Shape()[0], x.Shape()[1:].Elems())
}

func mlp(b *Builder) *graph.Value {
	var h *graph.Value
	b.Scope("dense1", func() { h = b.relu(b.dense(b.NormalInput(16, 20), 33)) })
	b.Scope("dense2", func() { h = b.dense(h, 10) })
	b.Output("logits", h)
	return b.xent(h)
}

func lenet(b *Builder) *graph.Value {
	h := b.NormalInput(4, 12, 12, 1)
	for _, out := range []int{8, 16} {
		h = b.pool(b.relu(b.Add(b.conv(h, 5, 1, out), b.bias(out))))
	}
	h = b.relu(b.dense(b.flat(h), 24))
	h = b.Dropout(h, graph.DropoutAttr{Rate: 0.25, Stream: 1})
	return b.xent(b.dense(h, 10))
}

// residual has blocks with and without projection, and one filter that is used twice.
func residual(b *Builder) *graph.Value {
	h := b.relu(b.norm(b.conv(b.NormalInput(3, 8, 8, 3), 3, 1, 8)))
	shared := b.weights(72, 3, 3, 8, 8)
	win := graph.Unit().Same(8, 8, 3, 3)
	for range 2 {
		y := b.relu(b.norm(b.Conv2D(h, shared, win, 1)))
		y = b.norm(b.conv(y, 3, 1, 8))
		h = b.relu(b.Add(y, h))
	}
	y := b.relu(b.norm(b.conv(h, 3, 2, 16)))
	y = b.norm(b.conv(y, 3, 1, 16))
	h = b.relu(b.Add(y, b.norm(b.conv(h, 1, 2, 16))))
	return b.xent(b.dense(b.Mean(h, 1, 2), 10))
}

// twoEnds has two inputs, two outputs and an embedding, and one layer for both branches.
func twoEnds(b *Builder) *graph.Value {
	words := b.Gather(b.weights(8, 20, 12), b.Below(20, 6, 5))
	gamma, beta := b.Positive(12), b.bias(12)
	words = b.Apply("layer_norm", graph.NormAttr{Eps: 1e-5}, words, gamma, beta)[0]
	words = b.Unary(graph.GELU, b.dense(words, 12))
	image := b.Unary(graph.Tanh, b.dense(b.NormalInput(6, 9), 12))
	w, bias := b.weights(12, 12, 12), b.bias(12)
	left := b.Unary(graph.Sigmoid, b.affine(b.Mean(words, 1), w, bias))
	right := b.Unary(graph.SiLU, b.affine(image, w, bias))
	joint := b.Concat(1, left, right)
	b.Output("joint", joint)
	class := b.xent(b.dense(joint, 7))
	value := b.Loss(b.dense(joint, 2), b.NormalInput(6, 2), graph.LossAttr{Kind: graph.Huber, Delta: 1})
	b.Output("value", value)
	return b.Add(class, b.Mul(value, b.Scalar(0.5)))
}

// wide has operations large enough to be cut into many chunks.
func wide(b *Builder) *graph.Value {
	h := b.relu(b.norm(b.conv(b.NormalInput(8, 20, 20, 3), 3, 1, 24)))
	h = b.pool(b.relu(b.Add(b.conv(h, 3, 1, 16), b.bias(16))))
	h = b.Dropout(b.relu(b.dense(b.flat(h), 96)), graph.DropoutAttr{Rate: 0.5, Stream: 4})
	table := b.Gather(b.weights(96, 500, 96), b.Below(500, 8, 60))
	return b.xent(b.dense(b.Add(h, b.Mean(table, 1)), 100))
}
