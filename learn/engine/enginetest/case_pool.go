package enginetest

import (
	"fmt"

	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
)

// pools lists input shapes with windows.
var pools = []struct {
	x    tensor.Shape
	taps [2]int
	win  graph.Window
}{
	{tensor.Shape{1, 2, 2, 1}, [2]int{2, 2}, graph.Window{Stride: two, Dilation: unit}},
	{tensor.Shape{2, 8, 6, 3}, [2]int{2, 2}, graph.Window{Stride: two, Dilation: unit}},
	{tensor.Shape{2, 9, 7, 17}, [2]int{2, 2}, graph.Window{Stride: two, Dilation: unit}},
	{tensor.Shape{2, 14, 14, 32}, [2]int{2, 2}, graph.Window{Stride: two, Dilation: unit}},
	{tensor.Shape{1, 9, 9, 4}, [2]int{3, 3}, graph.Window{Stride: two, Dilation: unit, Pad: [4]int{1, 1, 1, 1}}},
	{tensor.Shape{2, 7, 8, 5}, [2]int{3, 2}, graph.Window{Stride: unit, Dilation: unit, Pad: [4]int{2, 1, 0, 1}}},
	{tensor.Shape{1, 10, 10, 3}, [2]int{2, 3}, graph.Window{Stride: [2]int{3, 1}, Dilation: two, Pad: [4]int{0, 1, 2, 2}}},
	{tensor.Shape{3, 5, 5, 2}, [2]int{5, 5}, graph.Window{Stride: unit, Dilation: unit}},
	{tensor.Shape{1, 6, 6, 2}, [2]int{1, 1}, graph.Window{Stride: two, Dilation: unit}},
	{tensor.Shape{1, 15, 17, 1}, [2]int{15, 17}, graph.Window{Stride: unit, Dilation: unit}},
	{tensor.Shape{0, 4, 4, 2}, [2]int{2, 2}, graph.Window{Stride: two, Dilation: unit}},
}

func poolCases() []Case {
	cs := []Case{}
	for _, p := range pools {
		where := fmt.Sprintf("%v/%v/%+v", p.x, p.taps, p.win)
		cs = append(cs, Case{Name: "max_pool/" + where, Build: one(func(b *Builder) *graph.Value {
			return b.MaxPool(b.Apart(p.x...), p.taps, p.win)
		})})
		for _, count := range []bool{false, true} {
			cs = append(cs, Case{Name: fmt.Sprintf("avg_pool/%v/%s", count, where), Build: one(func(b *Builder) *graph.Value {
				return b.AvgPool(b.Normal(p.x...), p.taps, p.win, count)
			})})
		}
		cs = append(cs,
			Case{Name: "max_pool/relu/" + where, Build: one(func(b *Builder) *graph.Value {
				return b.MaxPool(b.Unary(graph.Relu, b.Apart(p.x...)), p.taps, p.win)
			})},
			Case{Name: "max_pool_grad/mask/" + where, NoGrad: true, Build: one(func(b *Builder) *graph.Value {
				a := graph.PoolAttr{Window: p.win, Taps: p.taps}
				pool := b.Apply("max_pool", a, b.Apart(p.x...))
				dy := b.Normal(pool[0].Shape()...)
				a.In, a.Mask = p.x, true
				return b.Apply("max_pool_grad", a, dy, pool[1], b.Normal(p.x...))[0]
			})})
	}
	return append(cs, Case{Name: "max_pool/ties", Kinks: true, Build: one(func(b *Builder) *graph.Value {
		x := make([]float32, 6*6*3) // few different values, so that many windows tie
		for i := range x {
			x[i] = float32(i * 7 % 3)
		}
		return b.MaxPool(b.Given(x, 1, 6, 6, 3), [2]int{3, 3}, graph.Window{Stride: unit, Dilation: unit, Pad: [4]int{1, 1, 1, 1}})
	})})
}
