package nn

import (
	"fmt"
	"hash/fnv"
	"math"

	"millrace.dev/learn/internal/vec"
	"millrace.dev/learn/tensor"
)

// Init says how a weight starts. The zero value leaves the choice to the layer.
type Init struct {
	Dist  Dist    `json:",omitempty"`
	Scale float32 `json:",omitempty"`
	Fan   Fan     `json:",omitempty"`
}

// Dist is a distribution. Scale is the constant's value, the uniform's half width, or the
// normals' standard deviation, before the fan divides it.
type Dist string

// The distributions. TruncNormal redraws beyond two deviations; Orthogonal makes the columns
// (or rows, whichever are fewer) of the weight seen as a matrix orthonormal, times Scale.
const (
	Const       Dist = "constant"
	Unif        Dist = "uniform"
	Norm        Dist = "normal"
	TruncNorm   Dist = "truncated_normal"
	Orthonormal Dist = "orthogonal"
)

// Fan divides the scale by the square root of a weight's fan: the inputs of one output, the
// outputs of one input, or their mean.
type Fan string

// The fans; NoFan leaves the scale alone.
const (
	NoFan  Fan = ""
	FanIn  Fan = "fan_in"
	FanOut Fan = "fan_out"
	FanAvg Fan = "fan_avg"
)

// Zeros starts a weight at 0.
func Zeros() Init { return Constant(0) }

// Ones starts a weight at 1.
func Ones() Init { return Constant(1) }

// Constant starts a weight at v.
func Constant(v float32) Init { return Init{Const, v, NoFan} }

// Uniform draws from [−limit, limit).
func Uniform(limit float32) Init { return Init{Unif, limit, NoFan} }

// Normal draws from N(0, sd²).
func Normal(sd float32) Init { return Init{Norm, sd, NoFan} }

// TruncatedNormal draws from N(0, sd²) within two deviations.
func TruncatedNormal(sd float32) Init { return Init{TruncNorm, sd, NoFan} }

// GlorotUniform has the variance 2/(fan in + fan out) (Glorot & Bengio 2010).
func GlorotUniform() Init { return Init{Unif, sqrt3, FanAvg} }

// GlorotNormal has the variance 2/(fan in + fan out).
func GlorotNormal() Init { return Init{Norm, 1, FanAvg} }

// HeUniform has the variance 2/fan in (He et al. 2015).
func HeUniform() Init { return Init{Unif, sqrt3 * math.Sqrt2, FanIn} }

// HeNormal has the variance 2/fan in.
func HeNormal() Init { return Init{Norm, math.Sqrt2, FanIn} }

// LeCunUniform has the variance 1/fan in (LeCun et al. 1998).
func LeCunUniform() Init { return Init{Unif, sqrt3, FanIn} }

// LeCunNormal has the variance 1/fan in.
func LeCunNormal() Init { return Init{Norm, 1, FanIn} }

// Orthogonal makes an orthonormal matrix times scale (Saxe et al. 2014).
func Orthogonal(scale float32) Init { return Init{Orthonormal, scale, NoFan} }

const sqrt3 = 1.7320508

func (i Init) or(otherwise Init) Init {
	if i.Dist == "" {
		return otherwise
	}
	return i
}

// nameHash is FNV-1a of a name: the same on every machine.
func nameHash(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// fill writes a weight's start values; they depend on seed and name alone.
func (i Init) fill(dst []float32, shape tensor.Shape, seed uint64, name string) error {
	d := draw{seed, nameHash(name)}
	scale := i.Scale / float32(i.fan(shape))
	switch i.Dist {
	case Const:
		for k := range dst {
			dst[k] = i.Scale
		}
	case Unif:
		vec.Uniform(dst, d.key(0), 0, -scale, scale)
	case Norm:
		vec.Normal(dst, d.key(0), 0, 0, scale)
	case TruncNorm:
		d.truncated(dst, scale)
	case Orthonormal:
		d.orthogonal(dst, shape.Rows(), shape.Last(), scale)
	default:
		return fmt.Errorf("unknown initial distribution %q", i.Dist)
	}
	return nil
}

// fan is the number that the scale is divided by. A weight's last axis is its outputs, the one
// before its inputs, and any others are taps of a filter.
func (i Init) fan(shape tensor.Shape) float64 {
	in, out := 1.0, float64(shape.Last())
	for k, d := range shape[:max(len(shape)-1, 0)] {
		in *= float64(d)
		if k < len(shape)-2 {
			out *= float64(d)
		}
	}
	switch i.Fan {
	case FanIn:
		return math.Sqrt(max(in, 1))
	case FanOut:
		return math.Sqrt(max(out, 1))
	case FanAvg:
		return math.Sqrt(max((in+out)/2, 1))
	}
	return 1
}

// draw gives the random numbers of one weight, in as many rounds as are asked for.
type draw struct{ seed, name uint64 }

func (d draw) key(round int) vec.RandKey {
	return vec.RandKey{Seed: d.seed, Step: d.name, Layer: uint32(round)}
}

// truncated draws again, from the next round, what lies beyond two deviations.
func (d draw) truncated(dst []float32, scale float32) {
	vec.Normal(dst, d.key(0), 0, 0, 1)
	again := make([]float32, len(dst))
	for round, beyond := 1, true; beyond; round++ {
		beyond = false
		vec.Normal(again, d.key(round), 0, 0, 1)
		for k, x := range dst {
			if x < -2 || x > 2 {
				dst[k], beyond = again[k], true
			}
		}
	}
	for k := range dst {
		dst[k] *= scale
	}
}

// orthogonal fills a rows×cols matrix by Gram-Schmidt on normal vectors, along the longer side.
func (d draw) orthogonal(dst []float32, rows, cols int, scale float32) {
	n, dim := min(rows, cols), max(rows, cols)
	basis := make([][]float64, 0, n)
	normals := make([]float32, dim)
	for round := 0; len(basis) < n; round++ {
		vec.Normal(normals, d.key(round), 0, 0, 1)
		v := make([]float64, dim)
		for k, x := range normals {
			v[k] = float64(x)
		}
		for _, b := range basis {
			axpy(v, b, -dot(v, b))
		}
		if norm := math.Sqrt(dot(v, v)); norm > 1e-6 {
			axpy(v, v, 1/norm-1)
			basis = append(basis, v)
		}
	}
	for i := range rows {
		for j := range cols {
			vector, place := i, j
			if rows >= cols {
				vector, place = j, i
			}
			dst[i*cols+j] = float32(basis[vector][place]) * scale
		}
	}
}

func dot(a, b []float64) float64 {
	s := 0.0
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

func axpy(y, x []float64, a float64) {
	for i := range y {
		y[i] += a * x[i]
	}
}
