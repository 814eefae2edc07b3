package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"millrace.dev/internal/cpu"
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

// transposed returns the transpose of a rows×cols matrix.
func transposed(a []float32, rows, cols int) []float32 {
	out := make([]float32, len(a))
	for i := range rows {
		for j := range cols {
			out[j*rows+i] = a[i*cols+j]
		}
	}
	return out
}

// matmulReference computes a·bᵀ of a [m][k] and b [n][k].
func matmulReference(m, n, k int, a, b []float32) *reference {
	ref := newReference(m * n)
	for i := range m {
		for j := range n {
			x, y := a[i*k:(i+1)*k], b[j*k:(j+1)*k]
			sum, abs := 0.0, 0.0
			for l, v := range x {
				p := float64(v) * float64(y[l])
				sum += p
				abs += math.Abs(p)
			}
			ref.sum[i*n+j], ref.abs[i*n+j] = sum, abs
		}
	}
	return ref
}

func TestMatMul(t *testing.T) {
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
	n := 500
	if testing.Short() {
		n = 100
	}
	for range n {
		checkMatMul(t, rng, dim(), dim(), dim())
	}
	checkMatMul(t, rng, 7, 33, 0)
	checkMatMul(t, rng, 1, 1, 5000)
}

// TestMatMulKinds has a shape for every way in which a product is computed.
func TestMatMulKinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, s := range [][3]int{
		{70, 300, 600}, {3, 400, 2100}, {300, 70, 520}, {64, 10, 64}, {16, 256, 784}, {128, 128, 128}, {20, 30, 9000},
		{100, 272, 520}, {290, 280, 480}, {40, 70, 1024},
	} {
		checkMatMul(t, rng, s[0], s[1], s[2])
	}
}

// checkMatMul compares all transpositions on all levels with the reference.
func checkMatMul(t *testing.T, rng *rand.Rand, m, n, k int) {
	t.Helper()
	a, bT, old := random(rng, m*k), random(rng, n*k), random(rng, m*n)
	aT, b := transposed(a, m, k), transposed(bT, n, k)
	exact := matmulReference(m, n, k, a, bT)
	for c := range 4 {
		args := &Args{A: a, B: b, Epilogue: randomEpilogue(rng, m*n, n)}
		if c&1 != 0 {
			args.A = aT
		}
		if c&2 != 0 {
			args.B = bT
		}
		p, err := NewMatMul(m, n, k, c&1 != 0, c&2 != 0)
		if err != nil {
			t.Fatal(err)
		}
		if p.Flops() != 2*m*n*k {
			t.Errorf("%d×%d×%d has %d operations", m, n, k, p.Flops())
		}
		what := fmt.Sprintf("%dx%dx%d transA=%v transB=%v", m, n, k, c&1 != 0, c&2 != 0)
		checkLevels(t, rng, what, p, args, old, exact, k)
	}
}

// checkLevels runs a plan on all levels and compares with exact sums of terms products each, to which it applies the
// epilogue; old is what Out holds before if that matters.
func checkLevels(t *testing.T, rng *rand.Rand, what string, p *Plan, args *Args, old []float32, exact *reference, terms int) {
	t.Helper()
	ref := &reference{slices.Clone(exact.sum), slices.Clone(exact.abs)}
	ref.apply(args.Epilogue, old, p.cols)
	for _, level := range cpu.Levels() {
		args.Out = poisoned(p.out)
		if args.Accumulate {
			copy(args.Out, old)
		}
		restore := cpu.Set(level)
		runPlan(p, args, rng)
		restore()
		ref.check(t, fmt.Sprintf("%s on %v", what, level), args.Out, terms)
	}
}
