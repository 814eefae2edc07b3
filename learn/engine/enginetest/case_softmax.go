package enginetest

import (
	"fmt"

	"millrace.dev/learn/graph"
)

func softmaxCases() []Case {
	cs := []Case{}
	shapes := [][]int{{3}, {1, 1}, {5, 10}, {4, 3, 7}, {64, 129}, {2, 5000}, {0, 4}}
	for _, s := range shapes {
		cs = append(cs,
			Case{Name: fmt.Sprintf("softmax/%v", s), Relative: true, Build: one(func(b *Builder) *graph.Value {
				return b.Softmax(b.Normal(s...))
			})},
			Case{Name: fmt.Sprintf("log_softmax/%v", s), Build: one(func(b *Builder) *graph.Value {
				return b.LogSoftmax(b.Normal(s...))
			})},
			Case{Name: fmt.Sprintf("softmax/large/%v", s), Cancels: 100, Build: one(func(b *Builder) *graph.Value {
				return b.Softmax(b.Mul(b.Normal(s...), b.Scalar(100)))
			})})
	}
	for _, a := range []graph.XentAttr{
		{Ignore: graph.NoIgnore}, {Smoothing: 0.1, Ignore: graph.NoIgnore}, {Ignore: 0}, {Ignore: -1}, {Smoothing: 0.3, Ignore: 2},
	} {
		for _, s := range [][]int{{1, 2}, {5, 10}, {4, 3, 7}, {64, 129}, {3, 1}} {
			cs = append(cs, xentCase(a, s))
		}
	}
	cs = append(cs, Case{Name: "softmax_xent/all ignored", Build: one(func(b *Builder) *graph.Value {
		labels := b.Indices(func(int) int { return -1 }, 4)
		return b.SoftmaxXent(b.Normal(4, 5), labels, graph.XentAttr{Ignore: -1})
	})}, Case{Name: "softmax_xent/large logits", Build: one(func(b *Builder) *graph.Value {
		return b.SoftmaxXent(b.Mul(b.Normal(4, 5), b.Scalar(500)), b.Below(5, 4), graph.XentAttr{Ignore: graph.NoIgnore})
	})}, Case{Name: "softmax_xent/scaled", Build: one(func(b *Builder) *graph.Value {
		return b.Mul(b.SoftmaxXent(b.Normal(4, 5), b.Below(5, 4), graph.XentAttr{Ignore: graph.NoIgnore}), b.Scalar(3))
	})}, Case{Name: "softmax_xent/no rows", Build: one(func(b *Builder) *graph.Value {
		return b.SoftmaxXent(b.Normal(0, 5), b.Below(5, 0), graph.XentAttr{Ignore: graph.NoIgnore})
	})})
	for _, a := range []graph.LossAttr{{Kind: graph.MSE}, {Kind: graph.BCE}, {Kind: graph.Huber, Delta: 1}, {Kind: graph.Huber, Delta: 0.3}} {
		for _, s := range [][]int{{1}, {7, 3}, {2, 3, 4}, {50000}} {
			cs = append(cs, Case{Name: fmt.Sprintf("loss/%+v/%v", a, s), Build: one(func(b *Builder) *graph.Value {
				target := b.NormalInput(s...)
				if a.Kind == graph.BCE {
					target = b.Unary(graph.Sigmoid, target)
				}
				return b.Loss(b.Apart(s...), target, a)
			})})
		}
	}
	return cs
}

// xentCase has rows whose label is ignored when that is a class, or -1.
func xentCase(a graph.XentAttr, s []int) Case {
	return Case{Name: fmt.Sprintf("softmax_xent/%+v/%v", a, s), Build: one(func(b *Builder) *graph.Value {
		classes := s[len(s)-1]
		labels := b.Indices(func(i int) int {
			if a.Ignore == -1 && i%3 == 0 {
				return -1
			}
			return (i * 5) % classes
		}, s[:len(s)-1]...)
		return b.SoftmaxXent(b.Normal(s...), labels, a)
	})}
}
