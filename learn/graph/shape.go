package graph

import (
	"fmt"
	"slices"

	"millrace.dev/learn/tensor"
)

// PermAttr is the order of axes of a "transpose": output axis i is input axis Perm[i].
type PermAttr struct{ Perm []int }

// SliceAttr cuts a box out: along axis i the elements from Start[i] up to, without, Limit[i].
type SliceAttr struct{ Start, Limit []int }

// PadAttr puts Before[i] and After[i] elements of Value around axis i.
type PadAttr struct {
	Before, After []int
	Value         float32
}

// AxisAttr is the axis of a "concat".
type AxisAttr struct{ Axis int }

// RowsAttr is the number of table rows of a "scatter_add".
type RowsAttr struct{ Rows int }

// CastAttr is the target type of a "cast".
type CastAttr struct{ DType tensor.DType }

var _ = builtin(
	// reshape: x → x's elements in another shape: a view, see Value.Base.
	OpDef{
		Name: "reshape",
		Infer: func(in []Spec, attr any) ([]Spec, error) {
			a, ok := attr.(ShapeAttr)
			if len(in) != 1 || !ok {
				return nil, fmt.Errorf("wants one operand and a shape")
			}
			if err := a.Shape.Check(); err != nil {
				return nil, err
			}
			if a.Shape.Elems() != in[0].Shape.Elems() {
				return nil, fmt.Errorf("%v has %d elements, %v has %d", in[0].Shape, in[0].Shape.Elems(), a.Shape, a.Shape.Elems())
			}
			return []Spec{{in[0].DType, a.Shape}}, nil
		},
		VJP: func(g *Graph, n *Node, dy []*Value) []*Value {
			return []*Value{g.Reshape(dy[0], n.In[0].Shape()...)}
		},
	},
	OpDef{
		Name:  "transpose",
		Infer: inferTranspose,
		VJP: func(g *Graph, n *Node, dy []*Value) []*Value {
			perm := n.Attr.(PermAttr).Perm
			inv := make([]int, len(perm))
			for i, p := range perm {
				inv[p] = i
			}
			return []*Value{g.Transpose(dy[0], inv...)}
		},
	},
	OpDef{
		Name:  "slice",
		Infer: inferSlice,
		VJP: func(g *Graph, n *Node, dy []*Value) []*Value {
			a, s := n.Attr.(SliceAttr), n.In[0].Shape()
			after := make([]int, len(s))
			for i := range s {
				after[i] = s[i] - a.Limit[i]
			}
			return []*Value{g.Apply("pad", PadAttr{Before: a.Start, After: after}, dy[0])[0]}
		},
	},
	OpDef{
		Name:  "pad",
		Infer: inferPad,
		VJP: func(g *Graph, n *Node, dy []*Value) []*Value {
			a, s := n.Attr.(PadAttr), n.In[0].Shape()
			limit := make([]int, len(s))
			for i := range s {
				limit[i] = a.Before[i] + s[i]
			}
			return []*Value{g.Slice(dy[0], a.Before, limit)}
		},
	},
	OpDef{
		Name:  "concat",
		Infer: inferConcat,
		VJP: func(g *Graph, n *Node, dy []*Value) []*Value {
			axis, at := n.Attr.(AxisAttr).Axis, 0
			out := make([]*Value, len(n.In))
			for i, v := range n.In {
				start := make([]int, len(v.Shape()))
				limit := dy[0].Shape().Clone()
				start[axis], limit[axis] = at, at+v.Shape()[axis]
				at = limit[axis]
				out[i] = g.Slice(dy[0], start, limit)
			}
			return out
		},
	},
	// gather: table [V, …], rows i32 [R…] → [R…, …]. A row outside 0..V-1 is an error of the run.
	OpDef{
		Name: "gather",
		Infer: func(in []Spec, _ any) ([]Spec, error) {
			if len(in) != 2 || in[1].DType != tensor.Int32 || in[0].DType != tensor.Float32 || len(in[0].Shape) < 1 {
				return nil, fmt.Errorf("wants an f32 table and i32 rows")
			}
			return []Spec{{tensor.Float32, slices.Concat(in[1].Shape, in[0].Shape[1:])}}, nil
		},
		VJP: func(g *Graph, n *Node, dy []*Value) []*Value {
			return []*Value{g.Apply("scatter_add", RowsAttr{n.In[0].Shape()[0]}, n.In[1], dy[0])[0], nil}
		},
	},
	// scatter_add: rows i32 [R…], x [R…, …] → zeros [Rows, …] with x added row by row, in order.
	OpDef{
		Name: "scatter_add",
		Infer: func(in []Spec, attr any) ([]Spec, error) {
			a, ok := attr.(RowsAttr)
			if len(in) != 2 || !ok || in[0].DType != tensor.Int32 || in[1].DType != tensor.Float32 || a.Rows < 0 {
				return nil, fmt.Errorf("wants i32 rows, f32 values and a row count")
			}
			r := len(in[0].Shape)
			if len(in[1].Shape) < r || !in[0].Shape.Equal(in[1].Shape[:r]) {
				return nil, fmt.Errorf("the values' shape does not start with the rows'")
			}
			return []Spec{{tensor.Float32, append(tensor.Shape{a.Rows}, in[1].Shape[r:]...)}}, nil
		},
		VJP: func(g *Graph, n *Node, dy []*Value) []*Value { return []*Value{nil, g.Gather(dy[0], n.In[0])} },
	},
	// cast: x → x rounded to nearest even in another floating-point type.
	OpDef{
		Name: "cast",
		Infer: func(in []Spec, attr any) ([]Spec, error) {
			a, ok := attr.(CastAttr)
			if len(in) != 1 || !ok || !isFloat(a.DType) || !isFloat(in[0].DType) {
				return nil, fmt.Errorf("wants one floating-point operand and type")
			}
			return []Spec{{a.DType, in[0].Shape}}, nil
		},
		VJP: func(g *Graph, n *Node, dy []*Value) []*Value { return []*Value{g.Cast(dy[0], n.In[0].Spec.DType)} },
	},
)

func isFloat(d tensor.DType) bool {
	return d == tensor.Float32 || d == tensor.Float16 || d == tensor.BFloat16
}

func inferTranspose(in []Spec, attr any) ([]Spec, error) {
	a, ok := attr.(PermAttr)
	if err := wantArgs(in, 1); err != nil || !ok || len(a.Perm) != len(in[0].Shape) {
		return nil, fmt.Errorf("wants one f32 operand and as many axes")
	}
	out, seen := make(tensor.Shape, len(a.Perm)), make([]bool, len(a.Perm))
	for i, p := range a.Perm {
		if p < 0 || p >= len(seen) || seen[p] {
			return nil, fmt.Errorf("%v is no permutation", a.Perm)
		}
		seen[p], out[i] = true, in[0].Shape[p]
	}
	return []Spec{{tensor.Float32, out}}, nil
}

func inferSlice(in []Spec, attr any) ([]Spec, error) {
	a, ok := attr.(SliceAttr)
	if err := wantArgs(in, 1); err != nil || !ok || len(a.Start) != len(in[0].Shape) || len(a.Limit) != len(a.Start) {
		return nil, fmt.Errorf("wants one f32 operand and a start and limit for each axis")
	}
	out := make(tensor.Shape, len(a.Start))
	for i, d := range in[0].Shape {
		if a.Start[i] < 0 || a.Limit[i] < a.Start[i] || a.Limit[i] > d {
			return nil, fmt.Errorf("[%d, %d) lies outside axis %d of %d", a.Start[i], a.Limit[i], i, d)
		}
		out[i] = a.Limit[i] - a.Start[i]
	}
	return []Spec{{tensor.Float32, out}}, nil
}

func inferPad(in []Spec, attr any) ([]Spec, error) {
	a, ok := attr.(PadAttr)
	if err := wantArgs(in, 1); err != nil || !ok || len(a.Before) != len(in[0].Shape) || len(a.After) != len(a.Before) {
		return nil, fmt.Errorf("wants one f32 operand and padding for each axis")
	}
	out := make(tensor.Shape, len(a.Before))
	for i, d := range in[0].Shape {
		if a.Before[i] < 0 || a.After[i] < 0 {
			return nil, fmt.Errorf("padding of axis %d is negative", i)
		}
		out[i] = a.Before[i] + d + a.After[i]
	}
	return []Spec{{tensor.Float32, out}}, nil
}

func inferConcat(in []Spec, attr any) ([]Spec, error) {
	a, ok := attr.(AxisAttr)
	if len(in) == 0 || !ok || a.Axis < 0 || a.Axis >= len(in[0].Shape) {
		return nil, fmt.Errorf("wants operands and an axis they have")
	}
	if err := wantArgs(in, len(in)); err != nil {
		return nil, err
	}
	out := in[0].Shape.Clone()
	for k, s := range in[1:] {
		if len(s.Shape) != len(out) {
			return nil, fmt.Errorf("operand %d has rank %d, the first %d", k+1, len(s.Shape), len(out))
		}
		for i, d := range s.Shape {
			if i != a.Axis && d != out[i] {
				return nil, fmt.Errorf("operand %d differs in axis %d: %d, the first %d", k+1, i, d, out[i])
			}
		}
		out[a.Axis] += s.Shape[a.Axis]
	}
	return []Spec{{tensor.Float32, out}}, nil
}

// Reshape gives x another shape with as many elements.
func (g *Graph) Reshape(x *Value, shape ...int) *Value {
	if x.Shape().Equal(shape) {
		return x
	}
	return g.Apply("reshape", ShapeAttr{shape}, x)[0]
}

// Transpose permutes axes: output axis i is x's axis perm[i].
func (g *Graph) Transpose(x *Value, perm ...int) *Value {
	return g.Apply("transpose", PermAttr{perm}, x)[0]
}

// Slice cuts the box [start, limit) out of x.
func (g *Graph) Slice(x *Value, start, limit []int) *Value {
	return g.Apply("slice", SliceAttr{start, limit}, x)[0]
}

// Pad puts zeros around x.
func (g *Graph) Pad(x *Value, before, after []int) *Value {
	return g.Apply("pad", PadAttr{Before: before, After: after}, x)[0]
}

// Concat joins values along an axis.
func (g *Graph) Concat(axis int, xs ...*Value) *Value {
	return g.Apply("concat", AxisAttr{axis}, xs...)[0]
}

// Gather picks rows of a table, an embedding look-up.
func (g *Graph) Gather(table, rows *Value) *Value { return g.Apply("gather", nil, table, rows)[0] }

// Cast rounds x to another floating-point type.
func (g *Graph) Cast(x *Value, d tensor.DType) *Value {
	if x.Spec.DType == d {
		return x
	}
	return g.Apply("cast", CastAttr{d}, x)[0]
}
