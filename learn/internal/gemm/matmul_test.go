package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"millrace.dev/learn/internal/cpu"
)

// runPlan runs a plan on one goroutine, chunks in random order, with scratch full of NaN.
func runPlan(p *Plan, args *Args, rng *rand.Rand) {
	args.Shared = poisoned(p.Shared())
	worker := poisoned(p.Worker())
	for ph := range p.Phases() {
		for _, c := range rng.Perm(p.Chunks(ph)) {
			p.Run(ph, c, args, worker)
		}
	}
}

func poisoned(n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(math.NaN())
	}
	return s
}

func random(rng *rand.Rand, n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(rng.NormFloat64())
	}
	return s
}

// reference is an exact enough result with the magnitude that bounds its rounding error.
type reference struct{ sum, abs []float64 }

func newReference(n int) *reference { return &reference{make([]float64, n), make([]float64, n)} }

func (r *reference) add(i int, x, y float32) {
	r.sum[i] += float64(x) * float64(y)
	r.abs[i] += math.Abs(float64(x) * float64(y))
}

// check compares got with the reference; k is the number of terms of each sum.
func (r *reference) check(t *testing.T, what string, got []float32, k int) {
	t.Helper()
	bad := 0
	for i, want := range r.sum {
		bound := 8*float64(k+4)*r.abs[i]*0x1p-24 + 1e-37
		if diff := math.Abs(float64(got[i]) - want); !(diff <= bound) {
			t.Errorf("%s: element %d is %v, want %v ± %.2g", what, i, got[i], want, bound)
			if bad++; bad == 4 {
				return
			}
		}
	}
}

// apply adds an epilogue to the reference.
func (r *reference) apply(e Epilogue, old []float32, cols int) {
	for i := range r.sum {
		add := func(v float32) {
			r.sum[i] += float64(v)
			r.abs[i] += math.Abs(float64(v))
		}
		if e.Accumulate {
			add(old[i])
		}
		if e.Bias != nil {
			add(e.Bias[i%cols])
		}
		if e.Residual != nil {
			add(e.Residual[i])
		}
		if e.ReLU {
			r.sum[i] = max(r.sum[i], 0)
		}
		if e.Mask != nil && !(e.Mask[i] > 0) {
			r.sum[i] = 0
		}
	}
}

// randomEpilogue draws an epilogue for n elements in rows of cols.
func randomEpilogue(rng *rand.Rand, n, cols int) Epilogue {
	var e Epilogue
	e.Accumulate = rng.IntN(3) == 0
	e.ReLU = rng.IntN(3) == 0
	if rng.IntN(2) == 0 {
		e.Bias = random(rng, cols)
	}
	if rng.IntN(3) == 0 {
		e.Residual = random(rng, n)
	}
	if rng.IntN(3) == 0 {
		e.Mask = random(rng, n)
	}
	return e
}

func eachLevel(t *testing.T, f func(t *testing.T)) {
	for _, level := range cpu.Levels() {
		t.Run(level.String(), func(t *testing.T) {
			defer cpu.Set(level)()
			f(t)
		})
	}
}

func matmulReference(m, n, k int, ta, tb bool, a, b []float32) *reference {
	ref := newReference(m * n)
	for i := range m {
		for j := range n {
			for l := range k {
				ai, bi := i*k+l, l*n+j
				if ta {
					ai = l*m + i
				}
				if tb {
					bi = j*k + l
				}
				ref.add(i*n+j, a[ai], b[bi])
			}
		}
	}
	return ref
}

func TestMatMul(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		dim := func() int {
			switch rng.IntN(4) {
			case 0:
				return 1 + rng.IntN(8)
			case 1:
				return 1 + rng.IntN(150)
			}
			return 1 + rng.IntN(40)
		}
		n := 400
		if testing.Short() {
			n = 100
		}
		for range n {
			checkMatMul(t, rng, dim(), dim(), dim(), rng.IntN(2) == 1, rng.IntN(2) == 1)
		}
		for _, s := range [][3]int{{70, 300, 600}, {3, 400, 2100}, {300, 70, 520}, {1, 1, 5000}, {64, 10, 64}, {16, 256, 784}, {128, 128, 128}, {20, 30, 9000}, {128, 320, 700}, {330, 290, 600}} {
			for c := range 4 {
				checkMatMul(t, rng, s[0], s[1], s[2], c&1 != 0, c&2 != 0)
			}
		}
		checkMatMul(t, rng, 7, 33, 0, false, false)
	})
}

func checkMatMul(t *testing.T, rng *rand.Rand, m, n, k int, ta, tb bool) {
	t.Helper()
	p, err := NewMatMul(m, n, k, ta, tb)
	if err != nil {
		t.Fatal(err)
	}
	args := &Args{A: random(rng, m*k), B: random(rng, k*n), Out: poisoned(m * n)}
	args.Epilogue = randomEpilogue(rng, m*n, n)
	if args.Accumulate {
		args.Out = random(rng, m*n)
	}
	ref := matmulReference(m, n, k, ta, tb, args.A, args.B)
	ref.apply(args.Epilogue, args.Out, n)
	runPlan(p, args, rng)
	ref.check(t, fmt.Sprintf("%dx%dx%d transA=%v transB=%v", m, n, k, ta, tb), args.Out, k)
}
