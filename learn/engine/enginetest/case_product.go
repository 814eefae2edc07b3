package enginetest

import (
	"fmt"

	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
)

// fusions lists all that can be fused to a product.
var fusions = []graph.Fused{
	{},
	{Bias: true},
	{Act: graph.ReLU},
	{Bias: true, Act: graph.ReLU},
	{Residual: true},
	{Bias: true, Residual: true, Act: graph.ReLU},
	{Mask: true},
	{Residual: true, Mask: true},
	{Bias: true, Residual: true, Act: graph.ReLU, Mask: true},
}

// extras makes the extra operands of a fused product with a result of the given shape.
func (b *Builder) extras(f graph.Fused, out tensor.Shape) []*graph.Value {
	vs := []*graph.Value{}
	if f.Bias {
		vs = append(vs, b.Normal(out.Last()))
	}
	if f.Residual {
		vs = append(vs, b.Normal(out...))
	}
	if f.Mask {
		vs = append(vs, b.NormalInput(out...))
	}
	return vs
}

func matmulCases() []Case {
	cs := []Case{}
	sizes := [][3]int{ // M, K, N
		{1, 1, 1}, {1, 7, 5}, {5, 1, 3}, {3, 4, 5}, {17, 33, 31}, {64, 100, 10}, {65, 129, 67}, {16, 784, 32}, {1, 300, 100}, {2, 3, 200},
		{4, 2, 64}, {128, 20, 1}, {3, 1000, 3},
	}
	for _, s := range sizes {
		for trans := range 4 {
			cs = append(cs, matmulCase(s, graph.MatMulAttr{TransA: trans&1 > 0, TransB: trans&2 > 0}))
		}
	}
	for _, f := range fusions[1:] {
		for _, s := range [][3]int{{3, 4, 5}, {17, 33, 31}, {64, 50, 48}} {
			for trans := range 4 {
				cs = append(cs, matmulCase(s, graph.MatMulAttr{TransA: trans&1 > 0, TransB: trans&2 > 0, Fused: f}))
			}
		}
	}
	return append(cs,
		matmulCase([3]int{0, 3, 4}, graph.MatMulAttr{}),
		matmulCase([3]int{2, 0, 4}, graph.MatMulAttr{Fused: graph.Fused{Bias: true}}),
		Case{Name: "matmul/itself", Build: one(func(b *Builder) *graph.Value {
			x := b.Normal(6, 6)
			return b.MatMul(x, x)
		})},
	)
}

func matmulCase(s [3]int, a graph.MatMulAttr) Case {
	return Case{
		Name: fmt.Sprintf("matmul/%v/%+v", s, a),
		Build: one(func(b *Builder) *graph.Value {
			x, w := tensor.Shape{s[0], s[1]}, tensor.Shape{s[1], s[2]}
			if a.TransA {
				x = tensor.Shape{s[1], s[0]}
			}
			if a.TransB {
				w = tensor.Shape{s[2], s[1]}
			}
			ops := append([]*graph.Value{b.Normal(x...), b.Normal(w...)}, b.extras(a.Fused, tensor.Shape{s[0], s[2]})...)
			return b.Apply("matmul", a, ops...)[0]
		}),
	}
}

// conv describes a convolution: batch, image, channels, filter, result channels, window, groups.
type conv struct {
	n, h, w, c, kh, kw, oc int
	stride, dil            [2]int
	pad                    [4]int
	groups                 int
}

func (c conv) attr() graph.ConvAttr {
	return graph.ConvAttr{Window: graph.Window{Stride: c.stride, Dilation: c.dil, Pad: c.pad}, Groups: c.groups}
}

func (c conv) x() tensor.Shape { return tensor.Shape{c.n, c.h, c.w, c.c} }

func (c conv) f() tensor.Shape { return tensor.Shape{c.kh, c.kw, c.c / c.groups, c.oc} }

var (
	unit = [2]int{1, 1}
	two  = [2]int{2, 2}
)

var convs = []conv{
	{1, 1, 1, 1, 1, 1, 1, unit, unit, [4]int{}, 1},
	{2, 5, 7, 3, 3, 3, 4, unit, unit, [4]int{1, 1, 1, 1}, 1},
	{1, 9, 9, 1, 5, 5, 32, unit, unit, [4]int{2, 2, 2, 2}, 1},
	{2, 8, 8, 16, 1, 1, 24, unit, unit, [4]int{}, 1},
	{2, 7, 7, 8, 1, 1, 8, two, unit, [4]int{}, 1},
	{3, 8, 6, 5, 3, 3, 7, two, unit, [4]int{0, 1, 0, 1}, 1},
	{1, 11, 10, 3, 7, 7, 16, two, unit, [4]int{3, 3, 3, 3}, 1},
	{2, 10, 9, 4, 2, 3, 6, [2]int{3, 2}, unit, [4]int{1, 0, 2, 1}, 1},
	{1, 12, 12, 4, 3, 3, 8, unit, two, [4]int{2, 2, 2, 2}, 1},
	{2, 13, 11, 6, 3, 2, 4, two, [2]int{3, 2}, [4]int{3, 2, 0, 1}, 2},
	{2, 6, 6, 8, 3, 3, 12, unit, unit, [4]int{1, 1, 1, 1}, 4},
	{1, 7, 7, 16, 3, 3, 16, unit, unit, [4]int{1, 1, 1, 1}, 16},
	{2, 9, 8, 12, 3, 3, 12, two, unit, [4]int{1, 1, 1, 1}, 12},
	{1, 6, 6, 5, 5, 5, 10, unit, unit, [4]int{2, 2, 2, 2}, 5},
	{2, 16, 16, 16, 3, 3, 32, unit, unit, [4]int{1, 1, 1, 1}, 1},
	{1, 14, 14, 32, 3, 3, 33, unit, unit, [4]int{1, 1, 1, 1}, 1},
	{2, 4, 4, 3, 4, 4, 5, unit, unit, [4]int{}, 1},
	{1, 5, 1, 3, 3, 1, 5, unit, unit, [4]int{1, 1, 0, 0}, 1},
	{1, 3, 3, 2, 3, 3, 2, [2]int{5, 5}, unit, [4]int{4, 4, 4, 4}, 1},
	{1, 4, 4, 2, 1, 1, 3, two, unit, [4]int{1, 1, 1, 1}, 1},
	{4, 28, 28, 1, 5, 5, 8, unit, unit, [4]int{2, 2, 2, 2}, 1},
	{0, 5, 5, 3, 3, 3, 4, unit, unit, [4]int{1, 1, 1, 1}, 1},
}

func convCases() []Case {
	cs := []Case{}
	for _, c := range convs {
		cs = append(cs, convCase(c, graph.Fused{}))
	}
	cs = append(cs, convCase(convs[14], fusions[5]), convCase(convs[14], fusions[7]))
	for _, f := range fusions[1:] {
		for _, k := range []int{1, 3, 5, 10, 11} {
			cs = append(cs, convCase(convs[k], f))
		}
	}
	for _, f := range fusions {
		for _, k := range []int{1, 3, 4, 5, 7, 8, 9, 11, 12, 18, 19} {
			cs = append(cs, convGradCase(convs[k], f))
		}
	}
	return cs
}

func (c conv) String() string {
	return fmt.Sprintf("%v*%v s%v d%v p%v g%d", c.x(), c.f(), c.stride, c.dil, c.pad, c.groups)
}

func convCase(c conv, f graph.Fused) Case {
	return Case{
		Name: fmt.Sprintf("conv2d/%v/%+v", c, f),
		Build: one(func(b *Builder) *graph.Value {
			a := c.attr()
			a.Fused = f
			out, _ := graph.ConvOut(c.x(), c.f(), a)
			ops := append([]*graph.Value{b.Normal(c.x()...), b.Normal(c.f()...)}, b.extras(f, out)...)
			return b.Apply("conv2d", a, ops...)[0]
		}),
	}
}

// convGradCase is the gradient with respect to the input by itself, fused as optimised graphs
// have it.
func convGradCase(c conv, f graph.Fused) Case {
	return Case{
		Name:   fmt.Sprintf("conv2d_grad_x/%v/%+v", c, f),
		NoGrad: true,
		Build: one(func(b *Builder) *graph.Value {
			a := c.attr()
			out, _ := graph.ConvOut(c.x(), c.f(), a)
			a.Fused, a.In = f, c.x()
			ops := append([]*graph.Value{b.Normal(out...), b.Normal(c.f()...)}, b.extras(f, c.x())...)
			return b.Apply("conv2d_grad_x", a, ops...)[0]
		}),
	}
}
