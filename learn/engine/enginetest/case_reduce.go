package enginetest

import (
	"fmt"

	"millrace.dev/learn/graph"
)

func reduceCases() []Case {
	cs := []Case{}
	axes := []struct {
		shape []int
		axes  []int
	}{
		{[]int{}, nil}, {[]int{5}, []int{0}}, {[]int{3, 4}, []int{0}}, {[]int{3, 4}, []int{1}}, {[]int{3, 4}, []int{0, 1}},
		{[]int{3, 4}, nil}, {[]int{2, 3, 4}, []int{1}}, {[]int{2, 3, 4}, []int{0, 2}}, {[]int{2, 5, 5, 3}, []int{1, 2}},
		{[]int{2, 5, 5, 3}, []int{0, 1, 2}}, {[]int{2, 3, 2, 3, 2}, []int{0, 2, 4}}, {[]int{1, 9, 1}, []int{0, 2}},
		{[]int{100, 129}, []int{0}}, {[]int{100, 129}, []int{1}}, {[]int{3000, 10}, []int{0}}, {[]int{2, 70000}, []int{1}},
	}
	for _, k := range []graph.ReduceKind{graph.RSum, graph.RMean, graph.RMax} {
		for _, a := range axes {
			for _, keep := range []bool{false, true} {
				cs = append(cs, Case{
					Name:   fmt.Sprintf("reduce/%s/%v/%v/keep=%v", k, a.shape, a.axes, keep),
					NoGrad: k == graph.RMax,
					Build: one(func(b *Builder) *graph.Value {
						return b.Apply("reduce", graph.ReduceAttr{Kind: k, Axes: a.axes, Keep: keep}, b.Normal(a.shape...))[0]
					}),
				})
			}
		}
	}
	cs = append(cs, Case{Name: "reduce/sum of nothing", Build: one(func(b *Builder) *graph.Value {
		return b.Sum(b.Normal(0, 3), 0)
	})})
	for _, s := range broadcasts {
		cs = append(cs, Case{Name: fmt.Sprintf("broadcast/%v/%v", s[0], s[1]), Build: one(func(b *Builder) *graph.Value {
			y := b.Add(b.Normal(s[0]...), b.Normal(s[1]...))
			return b.Square(b.Broadcast(b.Normal(s[0]...), y.Shape()...))
		})})
	}
	return cs
}

// Square keeps a broadcast from being merged with what weights it.
func (b *Builder) Square(x *graph.Value) *graph.Value { return b.Unary(graph.Square, x) }
