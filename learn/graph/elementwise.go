package graph

import (
	"fmt"

	"millrace.dev/learn/tensor"
)

// Act is an activation that a fused node applies to its result.
type Act uint8

// NoAct leaves the result alone, ReLU is max(x, 0).
const (
	NoAct Act = iota
	ReLU
)

func (a Act) String() string { return [...]string{"-", "relu"}[a] }

// Kind names an elementwise function of one operand ("unary") or two ("binary").
type Kind string

// Functions of one operand. GELU is x·Φ(x), GELUTanh its tanh form (Hendrycks & Gimpel 2016),
// SiLU x·σ(x), LeakyReLU x for x>0 and Alpha·x otherwise.
const (
	Neg       Kind = "neg"
	Abs       Kind = "abs"
	Exp       Kind = "exp"
	Log       Kind = "log"
	Sqrt      Kind = "sqrt"
	Square    Kind = "square"
	Relu      Kind = "relu"
	LeakyReLU Kind = "leaky_relu"
	Sigmoid   Kind = "sigmoid"
	Tanh      Kind = "tanh"
	GELU      Kind = "gelu"
	GELUTanh  Kind = "gelu_tanh"
	SiLU      Kind = "silu"
)

// Functions of two operands, broadcast by NumPy's rule. GE and LT give 1 or 0.
const (
	Add Kind = "add"
	Sub Kind = "sub"
	Mul Kind = "mul"
	Div Kind = "div"
	Max Kind = "max"
	Min Kind = "min"
	GE  Kind = "ge"
	LT  Kind = "lt"
)

// UnaryAttr chooses the function of a "unary" or "unary_grad".
type UnaryAttr struct {
	Kind  Kind
	Alpha float32 // slope of LeakyReLU
}

// BinaryAttr chooses the function of a "binary" and what follows it.
type BinaryAttr struct {
	Kind Kind
	Act  Act
}

// KeepsOutput reports whether the derivative of the unary function is computed from its
// output; otherwise it is computed from its input.
func (k Kind) KeepsOutput() bool {
	switch k {
	case Relu, LeakyReLU, Sigmoid, Tanh, Exp, Sqrt:
		return true
	}
	return false
}

var unaryKinds = set(Neg, Abs, Exp, Log, Sqrt, Square, Relu, LeakyReLU, Sigmoid, Tanh, GELU, GELUTanh, SiLU)
var binaryKinds = set(Add, Sub, Mul, Div, Max, Min, GE, LT)

func set(ks ...Kind) map[Kind]bool {
	m := map[Kind]bool{}
	for _, k := range ks {
		m[k] = true
	}
	return m
}

var _ = builtin(
	// unary: x → f(x).
	OpDef{
		Name:  "unary",
		Infer: inferUnary(1),
		VJP: func(g *Graph, n *Node, dy []*Value) []*Value {
			a := n.Attr.(UnaryAttr)
			if a.Kind == Neg {
				return []*Value{g.Unary(Neg, dy[0])}
			}
			kept := n.In[0]
			if a.Kind.KeepsOutput() {
				kept = n.Out[0]
			}
			return []*Value{g.Apply("unary_grad", a, dy[0], kept)[0]}
		},
	},
	// unary_grad: dy, kept → dy·f'; kept is f's output or input, see KeepsOutput.
	OpDef{Name: "unary_grad", Infer: inferUnary(2)},
	// binary: a, b → act(f(a, b)).
	OpDef{
		Name: "binary",
		Infer: func(in []Spec, attr any) ([]Spec, error) {
			if err := wantArgs(in, 2); err != nil {
				return nil, err
			}
			if a, ok := attr.(BinaryAttr); !ok || !binaryKinds[a.Kind] {
				return nil, fmt.Errorf("unknown function %v", attr)
			}
			s, err := tensor.Broadcast(in[0].Shape, in[1].Shape)
			return []Spec{{tensor.Float32, s}}, err
		},
		VJP: binaryVJP,
	},
)

func inferUnary(n int) func([]Spec, any) ([]Spec, error) {
	return func(in []Spec, attr any) ([]Spec, error) {
		if err := wantArgs(in, n); err != nil {
			return nil, err
		}
		a, ok := attr.(UnaryAttr)
		if !ok || !unaryKinds[a.Kind] {
			return nil, fmt.Errorf("unknown function %v", attr)
		}
		if a.Kind == LeakyReLU && !(a.Alpha >= 0) {
			return nil, fmt.Errorf("slope %v is negative: the gradient could not tell the sign of the input", a.Alpha)
		}
		if !in[0].Shape.Equal(in[n-1].Shape) {
			return nil, fmt.Errorf("operands differ in shape")
		}
		return in[:1], nil
	}
}

func binaryVJP(g *Graph, n *Node, dys []*Value) []*Value {
	a, b, dy := n.In[0], n.In[1], dys[0]
	attr := n.Attr.(BinaryAttr)
	if attr.Act == ReLU {
		dy = g.Apply("unary_grad", UnaryAttr{Kind: Relu}, dy, n.Out[0])[0]
	}
	var da, db *Value
	switch attr.Kind {
	case Add:
		da, db = dy, dy
	case Sub:
		da, db = dy, g.Unary(Neg, dy)
	case Mul:
		da, db = g.Mul(dy, b), g.Mul(dy, a)
	case Div: // a/b: da = dy/b, db = -dy·(a/b)/b
		da = g.Div(dy, b)
		db = g.Unary(Neg, g.Mul(da, g.Div(a, b)))
	case Max, Min: // where equal, the first operand takes the gradient
		first := g.Binary(GE, a, b)
		if attr.Kind == Min {
			first = g.Binary(GE, b, a)
		}
		da = g.Mul(dy, first)
		db = g.Sub(dy, da)
	default: // GE and LT are flat
		return []*Value{nil, nil}
	}
	return []*Value{g.SumTo(da, a.Shape()), g.SumTo(db, b.Shape())}
}

// Unary applies a function of one operand.
func (g *Graph) Unary(k Kind, x *Value) *Value { return g.Apply("unary", UnaryAttr{Kind: k}, x)[0] }

// Leaky applies LeakyReLU with the given slope for negative x.
func (g *Graph) Leaky(alpha float32, x *Value) *Value {
	return g.Apply("unary", UnaryAttr{LeakyReLU, alpha}, x)[0]
}

// Binary applies a function of two operands, broadcasting.
func (g *Graph) Binary(k Kind, a, b *Value) *Value {
	return g.Apply("binary", BinaryAttr{Kind: k}, a, b)[0]
}

// Add is a + b with broadcasting.
func (g *Graph) Add(a, b *Value) *Value { return g.Binary(Add, a, b) }

// Sub is a - b with broadcasting.
func (g *Graph) Sub(a, b *Value) *Value { return g.Binary(Sub, a, b) }

// Mul is a · b, element by element, with broadcasting.
func (g *Graph) Mul(a, b *Value) *Value { return g.Binary(Mul, a, b) }

// Div is a / b with broadcasting.
func (g *Graph) Div(a, b *Value) *Value { return g.Binary(Div, a, b) }
