package enginetest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
)

// Builder makes a case's graph together with the numbers of its operands, which depend on the
// case's name alone.
type Builder struct {
	*graph.Graph
	Floats map[string][]float32 // of params, states and inputs
	Ints   map[string][]int32   // of inputs

	rnd  *rand.Rand
	made int
}

// NewBuilder starts an empty graph.
func NewBuilder(name string) *Builder {
	h := fnv.New64a()
	h.Write([]byte(name))
	return &Builder{
		Graph:  graph.New(),
		Floats: map[string][]float32{},
		Ints:   map[string][]int32{},
		rnd:    rand.New(rand.NewPCG(h.Sum64(), 1)),
	}
}

func (b *Builder) name(prefix string) string {
	b.made++
	return fmt.Sprintf("%s%d", prefix, b.made)
}

func (b *Builder) fill(v *graph.Value, f func(i int) float64) *graph.Value {
	data := make([]float32, v.Shape().Elems())
	for i := range data {
		data[i] = float32(f(i))
	}
	b.Floats[v.Name] = data
	return v
}

// Normal is a param of normally distributed numbers.
func (b *Builder) Normal(shape ...int) *graph.Value {
	return b.fill(b.Param(b.name("p"), shape...), func(int) float64 { return b.rnd.NormFloat64() })
}

// Positive is a param of numbers in [0.5, 2).
func (b *Builder) Positive(shape ...int) *graph.Value {
	return b.fill(b.Param(b.name("p"), shape...), func(int) float64 { return 0.5 + 1.5*b.rnd.Float64() })
}

// Apart is a param of numbers in (-2, 2) that differ from each other and from 0 by more than
// any step of a difference: no ties, no kinks.
func (b *Builder) Apart(shape ...int) *graph.Value {
	n := tensor.Shape(shape).Elems()
	order := b.rnd.Perm(n)
	return b.fill(b.Param(b.name("p"), shape...), func(i int) float64 {
		return 4 * (float64(order[i]) + 0.25 - float64(n/2)) / float64(n)
	})
}

// Given is a param of given numbers.
func (b *Builder) Given(data []float32, shape ...int) *graph.Value {
	return b.fill(b.Param(b.name("p"), shape...), func(i int) float64 { return float64(data[i]) })
}

// Kept is a state of numbers in [0.5, 2).
func (b *Builder) Kept(shape ...int) *graph.Value {
	return b.fill(b.State(b.name("s"), shape...), func(int) float64 { return 0.5 + 1.5*b.rnd.Float64() })
}

// NormalInput is an input of normally distributed numbers.
func (b *Builder) NormalInput(shape ...int) *graph.Value {
	return b.fill(b.Input(b.name("x"), graph.F32(shape...)), func(int) float64 { return b.rnd.NormFloat64() })
}

// Below is an i32 input of numbers in [0, limit).
func (b *Builder) Below(limit int, shape ...int) *graph.Value {
	return b.Indices(func(int) int { return b.rnd.IntN(limit) }, shape...)
}

// Indices is an i32 input of the numbers that f gives.
func (b *Builder) Indices(f func(i int) int, shape ...int) *graph.Value {
	v := b.Input(b.name("i"), graph.Spec{DType: tensor.Int32, Shape: shape})
	data := make([]int32, v.Shape().Elems())
	for i := range data {
		data[i] = int32(f(i))
	}
	b.Ints[v.Name] = data
	return v
}

// Weighted is a scalar to differentiate: the sum of all float32 values, each element times a
// random number.
func (b *Builder) Weighted(vs []*graph.Value) *graph.Value {
	total := b.Scalar(0)
	for _, v := range vs {
		if v.Spec.DType == tensor.Float32 {
			total = b.Add(total, b.Sum(b.Mul(v, b.NormalInput(v.Shape()...))))
		}
	}
	return total
}

// Bind writes the numbers into a replica's inputs and its vectors.
func (b *Builder) Bind(r engine.Replica, v *engine.Vectors) {
	for _, p := range b.Params {
		copy(v.Param(p.Name), b.Floats[p.Name])
	}
	for _, s := range b.States {
		copy(v.State(s.Name), b.Floats[s.Name])
	}
	for _, in := range b.Inputs {
		if in.Spec.DType == tensor.Int32 {
			copy(r.Input(in.Name).I32(), b.Ints[in.Name])
		} else {
			copy(r.Input(in.Name).F32(), b.Floats[in.Name])
		}
	}
}
