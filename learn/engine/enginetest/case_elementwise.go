package enginetest

import (
	"fmt"

	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
)

var smallShapes = [][]int{{}, {1}, {7}, {3, 5}, {2, 3, 4}, {129}, {0, 3}}

func unaryCases() []Case {
	cs := []Case{}
	kinds := []graph.Kind{
		graph.Neg, graph.Abs, graph.Exp, graph.Log, graph.Sqrt, graph.Square, graph.Relu, graph.LeakyReLU,
		graph.Sigmoid, graph.Tanh, graph.GELU, graph.GELUTanh, graph.SiLU,
	}
	for _, k := range kinds {
		for _, s := range smallShapes {
			cs = append(cs, unaryCase(k, s))
		}
		cs = append(cs, unaryCase(k, []int{33000}))
	}
	return cs
}

func unaryCase(k graph.Kind, shape []int) Case {
	a := graph.UnaryAttr{Kind: k}
	if k == graph.LeakyReLU {
		a.Alpha = 0.25
	}
	return Case{
		Name:     fmt.Sprintf("unary/%s/%v", k, shape),
		Relative: k != graph.GELU && k != graph.GELUTanh && k != graph.SiLU && k != graph.Log,
		Build: one(func(b *Builder) *graph.Value {
			if k == graph.Log || k == graph.Sqrt {
				return b.Apply("unary", a, b.Positive(shape...))[0]
			}
			return b.Apply("unary", a, b.Apart(shape...))[0]
		}),
	}
}

// broadcasts pairs shapes that stretch in every way.
var broadcasts = [][2]tensor.Shape{
	{{}, {}}, {{5}, {5}}, {{3, 4}, {3, 4}}, {{3, 4}, {4}}, {{4}, {3, 4}}, {{3, 4}, {1, 4}}, {{3, 4}, {3, 1}},
	{{3, 1}, {1, 4}}, {{}, {3, 4}}, {{3, 4}, {1}}, {{2, 3, 4}, {3, 1}}, {{2, 3, 4}, {2, 1, 4}}, {{2, 3, 4, 5}, {3, 1, 5}},
	{{2, 1, 3, 1, 2}, {1, 4, 1, 3, 1}}, {{64, 100}, {100}}, {{7, 33}, {7, 33}}, {{7, 33}, {7, 1}}, {{0, 3}, {3}}, {{150, 250}, {150, 250}},
	{{2, 2, 2, 2, 2, 2}, {2, 1, 2, 1, 2}},
}

func binaryCases() []Case {
	cs := []Case{}
	for _, k := range []graph.Kind{graph.Add, graph.Sub, graph.Mul, graph.Div, graph.Max, graph.Min, graph.GE, graph.LT} {
		for _, s := range broadcasts {
			cs = append(cs, binaryCase(graph.BinaryAttr{Kind: k}, s))
		}
	}
	for _, s := range broadcasts {
		cs = append(cs, binaryCase(graph.BinaryAttr{Kind: graph.Add, Act: graph.ReLU}, s))
	}
	cs = append(cs, binaryCase(graph.BinaryAttr{Kind: graph.Mul, Act: graph.ReLU}, broadcasts[3]))
	return append(cs,
		Case{Name: "binary/same operand", Build: one(func(b *Builder) *graph.Value {
			x := b.Normal(3, 4)
			return b.Mul(x, x)
		})},
		Case{Name: "binary/used twice", Build: one(func(b *Builder) *graph.Value {
			x, y := b.Normal(3, 4), b.Normal(4)
			return b.Add(b.Mul(x, y), b.Sub(x, y))
		})},
	)
}

func binaryCase(a graph.BinaryAttr, s [2]tensor.Shape) Case {
	return Case{
		Name:     fmt.Sprintf("binary/%s/%v/%v/%v", a.Kind, a.Act, s[0], s[1]),
		Relative: a.Kind == graph.Mul || a.Kind == graph.Div,
		Build: one(func(b *Builder) *graph.Value {
			x, y := b.Apart(s[0]...), b.Positive(s[1]...)
			if a.Kind == graph.Max || a.Kind == graph.Min || a.Kind == graph.GE || a.Kind == graph.LT {
				y = b.Normal(s[1]...)
			}
			return b.Apply("binary", a, x, y)[0]
		}),
	}
}

func castCases() []Case {
	cs := []Case{}
	for _, d := range []tensor.DType{tensor.Float16, tensor.BFloat16} {
		cs = append(cs, Case{Name: "cast/" + d.String(), Kinks: true, Build: one(func(b *Builder) *graph.Value {
			return b.Cast(b.Cast(b.Normal(5, 67), d), tensor.Float32)
		})}, Case{Name: "cast/edges/" + d.String(), Kinks: true, Build: one(func(b *Builder) *graph.Value {
			x := b.Given([]float32{0, 1, -1, 65504, 65519, 65520, -1e30, 6.1e-5, 5.97e-8, 2.9e-8, 3e-8, 1.0009765, 1.00048828125, 1.00146484375, 0.1, -3.4e38}, 16)
			return b.Cast(b.Cast(x, d), tensor.Float32)
		})})
	}
	return append(cs, Case{Name: "cast/used twice", Kinks: true, Build: one(func(b *Builder) *graph.Value {
		short := b.Cast(b.Normal(3, 7), tensor.BFloat16)
		return b.Add(b.Cast(short, tensor.Float32), b.Square(b.Cast(short, tensor.Float32)))
	})})
}

func dropoutCases() []Case {
	cs := []Case{}
	for _, rate := range []float32{0, 0.25, 0.5, 0.9} {
		for _, shape := range [][]int{{1}, {3, 21}, {64}, {7, 1000}, {150, 301}} {
			cs = append(cs, Case{
				Name: fmt.Sprintf("dropout/%v/%v", rate, shape),
				Build: one(func(b *Builder) *graph.Value {
					return b.Dropout(b.Normal(shape...), graph.DropoutAttr{Rate: rate, Stream: 7})
				}),
			})
		}
	}
	return append(cs, Case{Name: "dropout/two streams", Build: one(func(b *Builder) *graph.Value {
		x := b.Normal(9, 33)
		d := b.Dropout(x, graph.DropoutAttr{Rate: 0.5, Stream: 1})
		return b.Add(d, b.Dropout(x, graph.DropoutAttr{Rate: 0.5, Stream: 2}))
	})})
}
