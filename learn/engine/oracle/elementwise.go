package oracle

import (
	"fmt"
	"math"

	"millrace.dev/learn/graph"
)

func unary(c *call) error {
	a := c.attr().(graph.UnaryAttr)
	for i, x := range c.in[0].f {
		c.out[0].f[i] = apply(a, x)
	}
	return nil
}

func apply(a graph.UnaryAttr, x float64) float64 {
	switch a.Kind {
	case graph.Neg:
		return -x
	case graph.Abs:
		return math.Abs(x)
	case graph.Exp:
		return math.Exp(x)
	case graph.Log:
		return math.Log(x)
	case graph.Sqrt:
		return math.Sqrt(x)
	case graph.Square:
		return x * x
	case graph.Relu:
		return relu(x)
	case graph.LeakyReLU:
		if x <= 0 {
			return float64(a.Alpha) * x
		}
		return x
	case graph.Sigmoid:
		return sigmoid(x)
	case graph.Tanh:
		return math.Tanh(x)
	case graph.GELU:
		return x * phi(x)
	case graph.GELUTanh:
		return 0.5 * x * (1 + math.Tanh(geluArg(x)))
	case graph.SiLU:
		return x * sigmoid(x)
	}
	return math.NaN()
}

// relu lets NaN through.
func relu(x float64) float64 {
	if x <= 0 {
		return 0
	}
	return x
}

func sigmoid(x float64) float64 {
	if x < 0 { // no overflow of exp on either side
		e := math.Exp(x)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-x))
}

// phi is the cumulative normal distribution.
func phi(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

// geluArg is what GELU's tanh form puts into tanh.
func geluArg(x float64) float64 { return math.Sqrt(2/math.Pi) * (x + 0.044715*x*x*x) }

// unaryGrad is dy·f', with f' from f's output or input; where f' is 0 the result is 0 even for
// an infinite dy.
func unaryGrad(c *call) error {
	a := c.attr().(graph.UnaryAttr)
	for i, dy := range c.in[0].f {
		d := slope(a, c.in[1].f[i])
		c.out[0].f[i] = dy * d
		if d == 0 && a.Kind == graph.Relu {
			c.out[0].f[i] = 0
		}
	}
	return nil
}

// slope is the derivative; v is the function's output where Kind.KeepsOutput, else its input.
func slope(a graph.UnaryAttr, v float64) float64 {
	switch a.Kind {
	case graph.Neg:
		return -1
	case graph.Abs:
		return sign(v)
	case graph.Exp:
		return v
	case graph.Log:
		return 1 / v
	case graph.Sqrt:
		return 0.5 / v
	case graph.Square:
		return 2 * v
	case graph.Relu:
		return step(v, 0)
	case graph.LeakyReLU:
		return step(v, float64(a.Alpha))
	case graph.Sigmoid:
		return v * (1 - v)
	case graph.Tanh:
		return 1 - v*v
	case graph.GELU:
		return phi(v) + v*math.Exp(-v*v/2)/math.Sqrt(2*math.Pi)
	case graph.GELUTanh:
		t := math.Tanh(geluArg(v))
		return 0.5*(1+t) + 0.5*v*(1-t*t)*math.Sqrt(2/math.Pi)*(1+3*0.044715*v*v)
	case graph.SiLU:
		s := sigmoid(v)
		return s * (1 + v*(1-s))
	}
	return math.NaN()
}

func step(v, below float64) float64 {
	if v > 0 {
		return 1
	}
	return below
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x // zero or NaN
}

func binary(c *call) error {
	a := c.attr().(graph.BinaryAttr)
	x, y, out, i := c.in[0], c.in[1], c.out[0], 0
	each(out.shape(), func(at []int) {
		v := combine(a.Kind, x.f[offset(at, x.shape())], y.f[offset(at, y.shape())])
		if a.Act == graph.ReLU {
			v = relu(v)
		}
		out.f[i] = v
		i++
	})
	return nil
}

func combine(k graph.Kind, a, b float64) float64 {
	switch k {
	case graph.Add:
		return a + b
	case graph.Sub:
		return a - b
	case graph.Mul:
		return a * b
	case graph.Div:
		return a / b
	case graph.GE:
		return truth(a >= b)
	case graph.LT:
		return truth(a < b)
	}
	if math.IsNaN(a) || math.IsNaN(b) || k != graph.Max && k != graph.Min {
		return math.NaN()
	}
	if k == graph.Max {
		return math.Max(a, b)
	}
	return math.Min(a, b)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// cast rounds to the result's type. A value is float32 before it is anything shorter.
func cast(c *call) error {
	to := c.attr().(graph.CastAttr).DType
	round, ok := rounders[to]
	if !ok {
		return fmt.Errorf("no cast to %v", to)
	}
	for i, x := range c.in[0].f {
		c.out[0].f[i] = round(x)
	}
	return nil
}
