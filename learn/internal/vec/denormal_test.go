package vec

import (
	"testing"

	"millrace.dev/internal/cpu"
)

// tiny is denormal; both are variables of the package so that the compiler cannot multiply them.
var tiny, half = float32(1e-40), float32(0.5)

// TestKernelsFlushDenormalsAndRestore: assembly counts denormals as zero, and Go's own arithmetic
// after it does not, so every kernel restores the state it found.
func TestKernelsFlushDenormalsAndRestore(t *testing.T) {
	const n = 48
	x, y, z := make([]float32, n), make([]float32, n), make([]float32, n)
	args, halves := make([]uint8, n), make([]uint16, n)
	p := Pool{N: 1, H: 1, W: 2, C: n / 2, KH: 1, KW: 2, StrideH: 1, StrideW: 2, DilH: 1, DilW: 1}
	kernels := map[string]func(){
		"AffineRows":           func() { AffineRows(z, x, y, x, y, x, 1, n, true) },
		"SumCols":              func() { SumCols(z, x, 1, n) },
		"BatchNormPartial":     func() { BatchNormPartial(z, x, 1, n/2) },
		"BatchNormGradPartial": func() { BatchNormGradPartial(z, x, y, x, y, 1, n/2) },
		"BatchNormGradInput":   func() { BatchNormGradInput(z[:16], y[16:], x, y, x, y, x, 1, 16) },
		"LayerNorm":            func() { LayerNorm(z, x, x, x, y[:1], y[1:], 1, n, 0) },
		"LayerNormGrad":        func() { LayerNormGrad(z, x, x, x, y, y, 1, n) },
		"Sum":                  func() { z[0] = float32(Sum(x)) },
		"Max":                  func() { z[0] = Max(x) },
		"Dot":                  func() { z[0] = float32(Dot(x, x)) },
		"Softmax":              func() { Softmax(z, x, 1, n) },
		"MaxPool":              func() { MaxPool(&p, z, args, x, 0, 1) },
		"MaxPoolGrad":          func() { MaxPoolGrad(&p, z, x, args, y, 0, 1) },
		"ToFloat16":            func() { ToFloat16(halves, x) },
		"FromFloat16":          func() { FromFloat16(z, halves) },
		"Dropout":              func() { Dropout(z, x, testKey, 0, 0.5) },
		"Transpose":            func() { Permute(z, x, []int{6, 8}, []int{1, 0}, 0, 8) },
	}
	for _, e := range elementwises {
		kernels[e.name] = func() { e.run(z, x, y) }
	}
	for _, u := range updates {
		kernels[u.name] = func() { u.run(z, y, y, x) }
	}
	eachLevel(t, func(t *testing.T) {
		for name, run := range kernels {
			Fill(x, tiny)
			Fill(y, tiny)
			run()
			if tiny*half == 0 {
				t.Fatalf("%s leaves the processor flushing denormals", name)
			}
		}
		if cpu.Current() == cpu.Generic {
			return
		}
		Fill(x, tiny)
		Binary(OpAdd, z, x, x)
		if z[0] != 0 {
			t.Errorf("%g + %g = %g, not flushed", tiny, tiny, z[0])
		}
		Fill(x, 0x1p-100)
		Mul(z, x, x)
		if z[0] != 0 {
			t.Errorf("2⁻¹⁰⁰ squared is %g, not flushed", z[0])
		}
	})
}
