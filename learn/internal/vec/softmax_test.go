package vec

import (
	"math"
	"testing"
)

// softmax64 is the softmax of a row and ln Σ eˣ.
func softmax64(x []float32) (p []float64, lse float64) {
	m := math.Inf(-1)
	for _, v := range x {
		m = math.Max(m, float64(v))
	}
	s := 0.0
	for _, v := range x {
		s += math.Exp(float64(v) - m)
	}
	for _, v := range x {
		p = append(p, math.Exp(float64(v)-m)/s)
	}
	return p, m + math.Log(s)
}

// logits fills x with numbers of which some are large enough to overflow a naive softmax.
func logits(x []float32, scale float32) {
	random(newRand(), x)
	for i := range x {
		x[i] *= scale
	}
}

func TestSoftmax(t *testing.T) {
	f := fences(t, 4)
	eachLevel(t, func(t *testing.T) {
		for k, shape := range matrices() {
			rows, cols := shape[0], shape[1]
			if cols == 0 {
				continue
			}
			for _, scale := range []float32{1, 300} {
				n := rows * cols
				s := guarded(f, newRand(), k%2 == 0, n, n, n, n)
				x, y, dy, dx := s[0], s[1], s[2], s[3]
				logits(x, scale)
				check := func(what string, got []float32, want func(r, c int) float64, tol float64) {
					t.Helper()
					for r := range rows {
						for c := range cols {
							if w := want(r, c); !near(got[r*cols+c], w, tol, 1) {
								t.Fatalf("%s %d×%d: [%d,%d] is %g, want %g", what, rows, cols, r, c, got[r*cols+c], w)
							}
						}
					}
				}
				p, lse := make([][]float64, rows), make([]float64, rows)
				for r := range rows {
					p[r], lse[r] = softmax64(x[r*cols:][:cols])
				}
				Softmax(y, x, rows, cols)
				check("Softmax", y, func(r, c int) float64 { return p[r][c] }, 1e-6)
				SoftmaxGrad(dx, dy, y, rows, cols)
				dots, sums := make([]float64, rows), make([]float64, rows)
				for r := range rows {
					for c := range cols {
						dots[r] += float64(dy[r*cols+c]) * p[r][c]
						sums[r] += float64(dy[r*cols+c])
					}
				}
				check("SoftmaxGrad", dx, func(r, c int) float64 { return p[r][c] * (float64(dy[r*cols+c]) - dots[r]) }, 4e-6)
				LogSoftmax(y, x, rows, cols)
				check("LogSoftmax", y, func(r, c int) float64 { return float64(x[r*cols+c]) - lse[r] }, 1e-6)
				LogSoftmaxGrad(dx, dy, y, rows, cols)
				check("LogSoftmaxGrad", dx, func(r, c int) float64 { return float64(dy[r*cols+c]) - p[r][c]*sums[r] }, 2e-5)
				checkIntact(t, f, k%2 == 0, s)
				Softmax(x, x, rows, cols)
				check("Softmax in place", x, func(r, c int) float64 { return p[r][c] }, 1e-6)
			}
		}
	})
}

func TestCrossEntropy(t *testing.T) {
	f, rng := fences(t, 3), newRand()
	eachLevel(t, func(t *testing.T) {
		for k, shape := range matrices() {
			rows, cols := shape[0], shape[1]
			if cols == 0 || rows > 1000 {
				continue
			}
			for _, smoothing := range []float32{0, 0.1} {
				n := rows * cols
				s := guarded(f, rng, k%2 == 0, n, n, rows)
				x, dx, loss := s[0], s[1], s[2]
				logits(x, 10)
				labels := make([]int32, rows)
				for r := range labels {
					labels[r] = int32(rng.IntN(cols+1)) - 1 // -1 is ignored
				}
				target := Target{Smoothing: smoothing, Ignore: -1}
				valid, bad := CountLabels(labels, cols, -1)
				if bad != -1 {
					t.Fatalf("bad label at %d", bad)
				}
				scale := float32(1 / float64(max(valid, 1)))
				if bad := CrossEntropy(loss, dx, x, labels, cols, target, scale); bad != -1 {
					t.Fatalf("bad label at %d", bad)
				}
				only := make([]float32, rows)
				CrossEntropy(only, nil, x, labels, cols, target, scale)
				for r, label := range labels {
					p, lse := softmax64(x[r*cols:][:cols])
					want := 0.0
					for c := range cols {
						q := float64(smoothing) / float64(cols)
						if c == int(label) {
							q += 1 - float64(smoothing)
						}
						grad := float64(scale) * (p[c] - q)
						if label < 0 {
							q, grad = 0, 0
						}
						want += q * (lse - float64(x[r*cols+c]))
						if !near(dx[r*cols+c], grad, 1e-6, float64(scale)) {
							t.Fatalf("%d×%d: dx[%d,%d] = %g, want %g", rows, cols, r, c, dx[r*cols+c], grad)
						}
					}
					if !near(loss[r], want, 2e-6, 1) || !near(only[r], want, 2e-6, 1) {
						t.Fatalf("%d×%d: loss of row %d is %g (%g without gradient), want %g", rows, cols, r, loss[r], only[r], want)
					}
				}
				checkIntact(t, f, k%2 == 0, s)
			}
		}
	})
}

// TestCrossEntropyOfSureRows: the loss of a row that is nearly right must not drown in the logits.
func TestCrossEntropyOfSureRows(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		x := []float32{100, 88, 0}
		loss := make([]float32, 1)
		CrossEntropy(loss, nil, x, []int32{0}, 3, Target{Ignore: -1}, 1)
		if want := math.Log1p(math.Exp(-12) + math.Exp(-100)); !near(loss[0], want, 2e-2, 0) {
			t.Errorf("loss %g, want %g", loss[0], want)
		}
	})
}

func TestBadLabels(t *testing.T) {
	x, loss := make([]float32, 12), make([]float32, 4)
	for _, bad := range []int32{3, -2, math.MaxInt32, math.MinInt32} {
		labels := []int32{0, -1, bad, 1}
		if r := CrossEntropy(loss, nil, x, labels, 3, Target{Ignore: -1}, 1); r != 2 {
			t.Errorf("label %d: CrossEntropy reports row %d, want 2", bad, r)
		}
		if n, r := CountLabels(labels, 3, -1); n != 1 || r != 2 {
			t.Errorf("label %d: CountLabels gives %d and row %d, want 1 and 2", bad, n, r)
		}
	}
}

func TestSoftmaxAllocatesNothing(t *testing.T) {
	x, y, loss, labels := make([]float32, 640), make([]float32, 640), make([]float32, 64), make([]int32, 64)
	if n := testing.AllocsPerRun(10, func() {
		Softmax(y, x, 64, 10)
		LogSoftmax(y, x, 64, 10)
		SoftmaxGrad(y, x, x, 64, 10)
		CrossEntropy(loss, y, x, labels, 10, Target{Smoothing: 0.1, Ignore: -1}, 1)
	}); n != 0 {
		t.Errorf("softmax allocates %v times", n)
	}
}
