package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"millrace.dev/internal/cpu"
)

// matrices are the shapes that tests of row and column kernels walk: all tails, few and many rows.
func matrices() (shapes [][2]int) {
	for cols := range 68 {
		if testing.Short() && cols > 35 {
			break
		}
		shapes = append(shapes, [2]int{1 + cols%11, cols})
	}
	return append(shapes, [][2]int{{0, 16}, {1, 130}, {513, 16}, {300, 64}, {77, 131}, {2, 9000}, {4096, 3}}...)
}

// fences are several guarded memories.
func fences(t *testing.T, n int) []*fence {
	f := make([]*fence, n)
	for i := range f {
		f[i] = newFence(t)
	}
	return f
}

// guarded cuts slices of the given lengths, each full of random numbers.
func guarded(f []*fence, rng *rand.Rand, atEnd bool, n ...int) [][]float32 {
	out := make([][]float32, len(n))
	for i, k := range n {
		out[i] = cut[float32](f[i], k, atEnd)
		random(rng, out[i])
	}
	return out
}

func checkIntact(t *testing.T, f []*fence, atEnd bool, s [][]float32) {
	t.Helper()
	for i := range s {
		if !f[i].intact(4*len(s[i]), atEnd) {
			t.Fatalf("wrote outside slice %d of %d elements", i, len(s[i]))
		}
	}
}

func TestAffineRows(t *testing.T) {
	f, rng := fences(t, 6), newRand()
	eachLevel(t, func(t *testing.T) {
		for k, shape := range matrices() {
			rows, cols := shape[0], shape[1]
			for opt := range 32 {
				if cols > 20 && (opt+k)%5 != 0 {
					continue
				}
				atEnd := opt%2 == 0
				s := guarded(f, rng, atEnd, rows*cols, rows*cols, rows*cols, cols, cols, cols)
				dst, x, res, mean, scale, shift := s[0], s[1], s[2], s[3], s[4], s[5]
				for i, v := range []*[]float32{&res, &mean, &scale, &shift} {
					if opt>>i&1 == 0 {
						*v = nil
					}
				}
				relu := opt>>4 == 1
				AffineRows(dst, x, res, mean, scale, shift, rows, cols, relu)
				for i := range dst {
					c := i % cols
					want := float64(x[i])
					if mean != nil {
						want -= float64(mean[c])
					}
					if scale != nil {
						want *= float64(scale[c])
					}
					if shift != nil {
						want += float64(shift[c])
					}
					if res != nil {
						want += float64(res[i])
					}
					if relu {
						want = max(want, 0)
					}
					if !near(dst[i], want, 1e-6, 4) {
						t.Fatalf("%d×%d options %05b: element %d is %g, want %g", rows, cols, opt, i, dst[i], want)
					}
				}
				checkIntact(t, f, atEnd, s)
			}
		}
	})
}

func TestSumCols(t *testing.T) {
	f, rng := fences(t, 3), newRand()
	eachLevel(t, func(t *testing.T) {
		for k, shape := range matrices() {
			rows, cols := shape[0], shape[1]
			s := guarded(f, rng, k%2 == 0, cols, rows*cols)
			dst, x := s[0], s[1]
			for i := range dst {
				dst[i] = nan32
			}
			SumCols(dst, x, rows, cols)
			for c := range dst {
				want, scale := 0.0, 0.0
				for r := range rows {
					want += float64(x[r*cols+c])
					scale += math.Abs(float64(x[r*cols+c]))
				}
				if math.Abs(float64(dst[c])-want) > 2e-6*scale {
					t.Fatalf("%d×%d: column %d is %g, want %g", rows, cols, c, dst[c], want)
				}
			}
			checkIntact(t, f, k%2 == 0, s)
		}
	})
}

func TestSumPartials(t *testing.T) {
	dst := make([]float32, 2)
	SumPartials(dst, []float32{1e8, 1, 1, 2, -1e8, 3}, 3)
	if dst[0] != 1 || dst[1] != 6 {
		t.Errorf("sums are %v, want [1 6]", dst)
	}
}

// chunks cuts rows into chunks of n.
func chunks(rows, n int) int { return (rows + n - 1) / n }

func TestBatchNormForward(t *testing.T) {
	f, rng := fences(t, 2), newRand()
	eachLevel(t, func(t *testing.T) {
		for k, shape := range matrices() {
			rows, cols := shape[0], shape[1]
			if rows == 0 {
				continue
			}
			for _, offset := range []float32{0, 1000} { // a large mean must not eat the variance
				x := guarded(f, rng, k%2 == 0, rows*cols)[0]
				for i := range x {
					x[i] += offset
				}
				const chunk = 40
				n := chunks(rows, chunk)
				parts := make([]float32, 2*cols*n)
				for c := range n {
					at, end := c*chunk, min(rows, (c+1)*chunk)
					BatchNormPartial(parts[2*cols*c:], x[at*cols:end*cols], end-at, cols)
				}
				mean, variance, inv := make([]float32, cols), make([]float32, cols), make([]float32, cols)
				BatchNormFinish(mean, variance, inv, parts, chunk, rows, 1e-5)
				for c := range cols {
					mu, m2 := column64(x, rows, cols, c)
					if !near(mean[c], mu, 1e-6, 1) || !near(variance[c], m2, 2e-5, 0) || !near(inv[c], 1/math.Sqrt(m2+1e-5), 2e-5, 0) {
						t.Fatalf("%d×%d+%g: column %d has mean %g, variance %g, want %g, %g", rows, cols, offset, c, mean[c], variance[c], mu, m2)
					}
				}
			}
		}
	})
}

// column64 is the mean and the biased variance of a column.
func column64(x []float32, rows, cols, c int) (mean, variance float64) {
	for r := range rows {
		mean += float64(x[r*cols+c]) / float64(rows)
	}
	for r := range rows {
		d := float64(x[r*cols+c]) - mean
		variance += d * d / float64(rows)
	}
	return mean, variance
}

func TestBatchNormRunning(t *testing.T) {
	m, v := []float32{1}, []float32{1}
	BatchNormRunning(m, v, []float32{3}, []float32{2}, 5, 0.1, true)
	if !near(m[0], 1.2, 1e-6, 1) || !near(v[0], 0.9+0.1*2*5/4, 1e-6, 1) {
		t.Errorf("running mean %g, variance %g", m[0], v[0])
	}
	BatchNormRunning(m, v, []float32{3}, []float32{2}, 5, 1, false)
	if m[0] != 3 || v[0] != 2 {
		t.Errorf("running mean %g, variance %g, want 3, 2", m[0], v[0])
	}
}

func TestBatchNormBackward(t *testing.T) {
	f, rng := fences(t, 6), newRand()
	eachLevel(t, func(t *testing.T) {
		for k, shape := range matrices() {
			rows, cols := shape[0], shape[1]
			if rows == 0 {
				continue
			}
			for form := range 3 { // plain, masked, masked with a residual
				n := rows * cols
				s := guarded(f, rng, k%2 == 0, n, n, n, n, n, 3*cols)
				dx, dres, dy, x, y, coef := s[0], s[1], s[2], s[3], s[4], s[5]
				dys := append([]float32(nil), dy...)
				for i := range dys {
					if form > 0 && !(y[i] > 0) {
						dys[i] = 0
					}
				}
				if form == 0 {
					y = nil
				}
				if form < 2 {
					dres = nil
				}
				gamma, mean, inv := make([]float32, cols), make([]float32, cols), make([]float32, cols)
				random(rng, gamma)
				for c := range cols {
					mu, v := column64(x, rows, cols, c)
					mean[c], inv[c] = float32(mu), float32(1/math.Sqrt(v+0.01))
				}
				const chunk = 50
				parts := make([]float32, 2*cols*chunks(rows, chunk))
				for c := range chunks(rows, chunk) {
					at, end := c*chunk, min(rows, (c+1)*chunk)
					BatchNormGradPartial(parts[2*cols*c:], dy[at*cols:end*cols], x[at*cols:end*cols], tail(y, at*cols), mean, end-at, cols)
				}
				dGamma, dBeta := make([]float32, cols), make([]float32, cols)
				BatchNormGradFinish(dGamma, dBeta, coef, parts, gamma, inv, chunks(rows, chunk), rows)
				BatchNormGradInput(dx, dres, dy, x, y, mean, coef, rows, cols)
				for c := range cols {
					var sum, sumX, scale float64
					hat := func(r int) float64 {
						return (float64(x[r*cols+c]) - float64(mean[c])) * float64(inv[c])
					}
					for r := range rows {
						g := float64(dys[r*cols+c])
						sum += g
						sumX += g * hat(r)
						scale += math.Abs(g) * (1 + math.Abs(hat(r)))
					}
					if math.Abs(float64(dBeta[c])-sum) > 2e-6*scale || math.Abs(float64(dGamma[c])-sumX) > 2e-6*scale {
						t.Fatalf("%d×%d form %d: column %d has dβ %g, dγ %g, want %g, %g", rows, cols, form, c, dBeta[c], dGamma[c], sum, sumX)
					}
					m := float64(rows)
					for r := range rows {
						i := r*cols + c
						want := float64(gamma[c]) * float64(inv[c]) * (float64(dys[i]) - sum/m - hat(r)*sumX/m)
						if !near(dx[i], want, 1e-5, math.Abs(float64(gamma[c]*inv[c]))) {
							t.Fatalf("%d×%d form %d: dx[%d] = %g, want %g", rows, cols, form, i, dx[i], want)
						}
						if form == 2 && dres[i] != dys[i] {
							t.Fatalf("%d×%d: dres[%d] = %g, want %g", rows, cols, i, dres[i], dys[i])
						}
					}
				}
				checkIntact(t, f, k%2 == 0, s)
			}
		}
	})
}

func TestLayerNorm(t *testing.T) {
	f, rng := fences(t, 6), newRand()
	eachLevel(t, func(t *testing.T) {
		for k, shape := range matrices() {
			rows, cols := shape[0], shape[1]
			if cols == 0 || rows > 1000 {
				continue
			}
			n := rows * cols
			s := guarded(f, rng, k%2 == 0, n, n, n, n, cols, cols)
			y, dx, x, dy, gamma, beta := s[0], s[1], s[2], s[3], s[4], s[5]
			mean, inv, part := make([]float32, rows), make([]float32, rows), make([]float32, 2*cols)
			LayerNorm(y, x, gamma, beta, mean, inv, rows, cols, 1e-5)
			LayerNormGrad(dx, dy, x, gamma, mean, inv, rows, cols)
			LayerNormGradPartial(part, dy, x, mean, inv, rows, cols)
			dGamma, dBeta, scale := make([]float64, cols), make([]float64, cols), make([]float64, cols)
			for r := range rows {
				row := x[r*cols:][:cols]
				mu, v := column64(row, cols, 1, 0)
				si := 1 / math.Sqrt(v+1e-5)
				var sg, sgx float64
				hat := func(c int) float64 { return (float64(row[c]) - mu) * si }
				for c := range cols {
					g := float64(dy[r*cols+c]) * float64(gamma[c])
					sg += g
					sgx += g * hat(c)
					dGamma[c] += float64(dy[r*cols+c]) * hat(c)
					dBeta[c] += float64(dy[r*cols+c])
					scale[c] += math.Abs(float64(dy[r*cols+c])) * (1 + math.Abs(hat(c)))
					if want := hat(c)*float64(gamma[c]) + float64(beta[c]); !near(y[r*cols+c], want, 4e-6, 1+si) {
						t.Fatalf("%d×%d: y[%d,%d] = %g, want %g", rows, cols, r, c, y[r*cols+c], want)
					}
				}
				for c := range cols {
					g := float64(dy[r*cols+c]) * float64(gamma[c])
					want := si * (g - sg/float64(cols) - hat(c)*sgx/float64(cols))
					if !near(dx[r*cols+c], want, 1e-5, 4*si) {
						t.Fatalf("%d×%d: dx[%d,%d] = %g, want %g", rows, cols, r, c, dx[r*cols+c], want)
					}
				}
			}
			for c := range cols {
				if math.Abs(float64(part[c])-dGamma[c]) > 1e-5*scale[c] || math.Abs(float64(part[cols+c])-dBeta[c]) > 1e-5*scale[c] {
					t.Fatalf("%d×%d: column %d has dγ %g, dβ %g, want %g, %g", rows, cols, c, part[c], part[cols+c], dGamma[c], dBeta[c])
				}
			}
			checkIntact(t, f, k%2 == 0, s)
		}
	})
}

// TestRowLevelsAgree: AVX2 and AVX-512 give the same bits, whatever the widths of their panels.
func TestRowLevelsAgree(t *testing.T) {
	if cpu.Best() < cpu.AVX512 {
		t.Skip("needs AVX-512")
	}
	for _, shape := range matrices() {
		rows, cols := shape[0], shape[1]
		if rows == 0 || cols == 0 {
			continue
		}
		var got [2][]float32
		for k, l := range []cpu.Level{cpu.AVX2, cpu.AVX512} {
			restore := cpu.Set(l)
			rng := newRand()
			n := rows * cols
			s := make([][]float32, 8)
			for i := range s {
				s[i] = make([]float32, n+3*cols)
				random(rng, s[i])
			}
			a, b, c := s[0][:n], s[1][:n], s[2][:n]
			p, q, r := s[3], s[4], s[5]
			out := make([]float32, n)
			AffineRows(out, a, b, p[:cols], q[:cols], r[:cols], rows, cols, true)
			part := make([]float32, 9*cols)
			BatchNormPartial(part, a, rows, cols)
			BatchNormGradPartial(part[2*cols:], a, b, c, p[:cols], rows, cols)
			SumCols(part[4*cols:5*cols], a, rows, cols)
			mean, inv := make([]float32, rows), make([]float32, rows)
			y, dx := make([]float32, n), make([]float32, n)
			LayerNorm(y, a, p[:cols], q[:cols], mean, inv, rows, cols, 1e-5)
			LayerNormGrad(dx, b, a, p[:cols], mean, inv, rows, cols)
			LayerNormGradPartial(part[5*cols:], b, a, mean, inv, rows, cols)
			dbn := make([]float32, n)
			BatchNormGradInput(dbn, nil, a, b, c, p[:cols], q, rows, cols)
			got[k] = slices.Concat(out, part, y, dx, mean, inv, dbn)
			restore()
		}
		if i := equalBits(got[0], got[1]); i >= 0 {
			t.Errorf("%d×%d: number %d is %g with AVX2 and %g with AVX-512", rows, cols, i, got[0][i], got[1][i])
		}
	}
}

func TestRowsAllocateNothing(t *testing.T) {
	const rows, cols = 33, 24
	n := rows * cols
	s := make([][]float32, 8)
	for i := range s {
		s[i] = make([]float32, n)
	}
	mean, inv := make([]float32, rows), make([]float32, rows)
	for name, f := range map[string]func(){
		"AffineRows":           func() { AffineRows(s[0], s[1], s[2], s[3], s[4], s[5], rows, cols, true) },
		"SumCols":              func() { SumCols(s[0], s[1], rows, cols) },
		"BatchNormPartial":     func() { BatchNormPartial(s[0], s[1], rows, cols) },
		"BatchNormFinish":      func() { BatchNormFinish(s[0][:cols], s[1], s[2], s[3], rows, rows, 1e-5) },
		"BatchNormGradPartial": func() { BatchNormGradPartial(s[0], s[1], s[2], s[3], s[4], rows, cols) },
		"BatchNormGradInput":   func() { BatchNormGradInput(s[0], s[1], s[2], s[3], s[4], s[5], s[6], rows, cols) },
		"LayerNorm":            func() { LayerNorm(s[0], s[1], s[2], s[3], mean, inv, rows, cols, 1e-5) },
		"LayerNormGrad":        func() { LayerNormGrad(s[0], s[1], s[2], s[3], mean, inv, rows, cols) },
		"LayerNormGradPartial": func() { LayerNormGradPartial(s[0], s[1], s[2], mean, inv, rows, cols) },
	} {
		if a := testing.AllocsPerRun(10, f); a != 0 {
			t.Errorf("%s allocates %v times", name, a)
		}
	}
}

func ExampleAffineRows() {
	x := []float32{1, -2, 3, -4}
	AffineRows(x, x, nil, nil, nil, []float32{0, 1}, 2, 2, true) // add a bias, then ReLU
	fmt.Println(x)
	// Output: [1 0 3 0]
}
