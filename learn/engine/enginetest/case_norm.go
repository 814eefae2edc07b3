package enginetest

import (
	"fmt"

	"millrace.dev/learn/graph"
)

func normCases() []Case {
	cs := []Case{}
	for _, shape := range [][]int{{2, 1}, {5, 3}, {64, 17}, {2, 3, 4}, {2, 5, 5, 16}, {3, 7, 6, 33}, {9000, 4}} {
		for _, a := range []graph.NormAttr{
			{Eps: 1e-5, Momentum: 0.1},
			{Eps: 1e-3, Momentum: 0.25, Act: graph.ReLU},
			{Eps: 1e-5, Momentum: 0.1, Residual: true},
			{Eps: 1e-5, Momentum: 0.1, Residual: true, Act: graph.ReLU},
		} {
			for _, op := range []string{"batch_norm", "batch_norm_infer"} {
				cs = append(cs, Case{Name: fmt.Sprintf("%s/%v/%+v", op, shape, a), Cancels: 1, Build: one(func(b *Builder) *graph.Value {
					return b.batchNorm(op, a, b.Normal(shape...))
				})})
			}
		}
		cs = append(cs, Case{Name: fmt.Sprintf("batch_norm_grad/mask/%v", shape), NoGrad: true, Build: func(b *Builder) []*graph.Value {
			dy, x, mask := b.Normal(shape...), b.Normal(shape...), b.Normal(shape...)
			c := shape[len(shape)-1]
			return b.Apply("batch_norm_grad", graph.NormGradAttr{Mask: true}, dy, x, b.Normal(c), b.Normal(c), b.Positive(c), mask)
		}})
	}
	for _, shape := range [][]int{{1, 2}, {5, 3}, {7, 64}, {2, 3, 50}, {2, 3, 2, 129}, {3, 1000}, {300, 20}} {
		cs = append(cs, Case{Name: fmt.Sprintf("layer_norm/%v", shape), Cancels: 1, Build: one(func(b *Builder) *graph.Value {
			d := shape[len(shape)-1]
			return b.Apply("layer_norm", graph.NormAttr{Eps: 1e-5}, b.Normal(shape...), b.Positive(d), b.Normal(d))[0]
		})})
	}
	cs = append(cs, Case{Name: "layer_norm/residual", Build: one(func(b *Builder) *graph.Value {
		x := b.Normal(4, 6)
		for range 2 {
			x = b.Add(x, b.Apply("layer_norm", graph.NormAttr{Eps: 1e-5}, x, b.Positive(6), b.Normal(6))[0])
		}
		return x
	})})
	return append(cs, Case{Name: "batch_norm/used twice", Build: one(func(b *Builder) *graph.Value {
		gamma, beta, mean, variance := b.Positive(4), b.Normal(4), b.Kept(4), b.Kept(4)
		a := graph.NormAttr{Eps: 1e-5, Momentum: 0.1}
		y := b.Apply("batch_norm", a, b.Normal(6, 4), gamma, beta, mean, variance)[0]
		return b.Apply("batch_norm", a, y, gamma, beta, mean, variance)[0]
	})})
}

func (b *Builder) batchNorm(op string, a graph.NormAttr, x *graph.Value) *graph.Value {
	c := x.Shape().Last()
	ops := []*graph.Value{x, b.Positive(c), b.Normal(c), b.Kept(c), b.Kept(c)}
	if a.Residual {
		ops = append(ops, b.Normal(x.Shape()...))
	}
	return b.Apply(op, a, ops...)[0]
}
