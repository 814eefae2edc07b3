package gemm

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"millrace.dev/internal/cpu"
)

// plans returns plans of every kind: direct, packed by workers, packed for all, dot products, padded rows, dense,
// strided, grouped and depthwise convolutions.
func plans(t testing.TB) map[string]*Plan {
	t.Helper()
	all := map[string]*Plan{}
	matmul := func(name string, m, n, k int, ta, tb bool) {
		p, err := NewMatMul(m, n, k, ta, tb)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = p
	}
	matmul("direct", 20, 100, 70, false, false)
	matmul("one row", 1, 700, 300, false, false)
	matmul("worker packs", 100, 272, 520, false, false)
	matmul("all share", 290, 280, 480, false, false)
	matmul("padded rows", 40, 70, 1024, false, false)
	matmul("transposed A", 200, 300, 70, true, false)
	matmul("sliced", 20, 30, 9000, true, false)
	matmul("dots", 9, 400, 333, false, true)
	matmul("transposed B", 60, 400, 333, false, true)
	conv := func(name string, s ConvShape) {
		c, err := NewConv(s)
		if err != nil {
			t.Fatal(err)
		}
		all[name+" forward"], all[name+" input"], all[name+" filter"] = c.Forward, c.GradInput, c.GradFilter
	}
	conv("5×5", square(5, 14, 8, 5, 40, 1, 2))
	conv("few channels", square(4, 20, 3, 3, 16, 1, 1))
	conv("sliced", square(9, 30, 3, 3, 30, 1, 1))
	conv("stride 2", square(3, 17, 16, 3, 24, 2, 1))
	conv("heavy filter", square(3, 5, 140, 3, 120, 1, 1))
	conv("pointwise", square(3, 9, 30, 1, 50, 1, 0))
	conv("depthwise", depthwise(3, 15, 37))
	grouped := square(2, 9, 12, 3, 18, 1, 1)
	grouped.Groups, grouped.DilW = 3, 2
	conv("grouped", grouped)
	return all
}

func randomArgs(rng *rand.Rand, p *Plan) *Args {
	return &Args{
		Out: random(rng, p.out), A: random(rng, p.a), B: random(rng, p.b), Shared: poisoned(p.Shared()),
		Epilogue: randomEpilogue(rng, p.out, p.cols),
	}
}

// same fails unless two results have equal bits.
func same(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: element %d is %v, want the bits of %v", what, i, got[i], want[i])
		}
	}
}

// TestRegions checks that the chunks of a plan finish every element once, and that what must be contiguous is.
func TestRegions(t *testing.T) {
	for name, p := range plans(t) {
		seen := make([]int, p.out)
		for ph := range p.Phases() {
			for c := range p.Chunks(ph) {
				r := p.Region(ph, c)
				for row := r.Row0; row < r.Row1; row++ {
					for col := r.Col0; col < r.Col1; col++ {
						seen[row*r.Cols+col]++
					}
				}
				lo, hi, contiguous := r.Range()
				if r.Empty() != (lo == hi) || contiguous && hi-lo != (r.Row1-r.Row0)*(r.Col1-r.Col0) && !r.Empty() {
					t.Errorf("%s: region %+v has range %d, %d, %v", name, r, lo, hi, contiguous)
				}
				if byRows := name == "transposed A" || name[max(0, len(name)-6):] == "filter"; byRows && !contiguous {
					t.Errorf("%s: chunk %d of phase %d is not contiguous: %+v", name, c, ph, r)
				}
			}
		}
		if i := slices.IndexFunc(seen, func(n int) bool { return n != 1 }); i >= 0 {
			t.Errorf("%s: element %d is finished %d times", name, i, seen[i])
		}
	}
}

// TestPart gives each chunk memory for no more than its region.
func TestPart(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for name, p := range plans(t) {
		args := randomArgs(rng, p)
		whole := *args
		whole.Out = slices.Clone(args.Out)
		runPlan(p, &whole, rng)
		worker := poisoned(p.Worker())
		for ph := range p.Phases() {
			for c := range p.Chunks(ph) {
				part, r := *args, p.Region(ph, c)
				lo, hi, _ := r.Range()
				part.Part, part.Lo, part.Out = true, lo, slices.Clone(args.Out[lo:hi])
				p.Run(ph, c, &part, worker)
				for row := r.Row0; row < r.Row1; row++ {
					from, to := row*r.Cols+r.Col0, row*r.Cols+r.Col1
					same(t, name, part.Out[from-lo:to-lo], whole.Out[from:to])
				}
			}
		}
	}
}

// TestBitsDoNotDependOnThreads runs chunks on one, two and five goroutines that take them in random order.
func TestBitsDoNotDependOnThreads(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(13, 14))
		for name, p := range plans(t) {
			args := randomArgs(rng, p)
			start := slices.Clone(args.Out)
			runPlan(p, args, rng)
			want := slices.Clone(args.Out)
			for _, workers := range []int{2, 5} {
				copy(args.Out, start)
				runParallel(p, args, rng, workers)
				same(t, name, args.Out, want)
			}
		}
	})
}

func runParallel(p *Plan, args *Args, rng *rand.Rand, workers int) {
	for ph := range p.Phases() {
		order := rng.Perm(p.Chunks(ph))
		var next atomic.Int32
		var group sync.WaitGroup
		for range workers {
			group.Go(func() {
				scratch := poisoned(p.Worker())
				for i := int(next.Add(1)) - 1; i < len(order); i = int(next.Add(1)) - 1 {
					p.Run(ph, order[i], args, scratch)
				}
			})
		}
		group.Wait()
	}
}

// TestLevelsAgree checks that AVX2 and AVX-512 give equal bits.
func TestLevelsAgree(t *testing.T) {
	if cpu.Best() < cpu.AVX512 {
		t.Log("this machine has one level of assembly at most")
		return
	}
	rng := rand.New(rand.NewPCG(15, 16))
	check := func(name string, p *Plan) {
		t.Helper()
		args := randomArgs(rng, p)
		start := slices.Clone(args.Out)
		restore := cpu.Set(cpu.AVX2)
		runPlan(p, args, rng)
		restore()
		want := slices.Clone(args.Out)
		copy(args.Out, start)
		defer cpu.Set(cpu.AVX512)()
		runPlan(p, args, rng)
		same(t, name, args.Out, want)
	}
	for name, p := range plans(t) {
		check(name, p)
	}
	for range 100 {
		m, n, k := 1+rng.IntN(80), 1+rng.IntN(200), 1+rng.IntN(300)
		p, err := NewMatMul(m, n, k, rng.IntN(2) == 0, rng.IntN(2) == 0)
		if err != nil {
			t.Fatal(err)
		}
		check("matmul", p)
		s := randomShape(rng)
		c, err := NewConv(s)
		if err != nil {
			t.Fatal(err)
		}
		check("forward "+s.String(), c.Forward)
		check("input gradient "+s.String(), c.GradInput)
		check("filter gradient "+s.String(), c.GradFilter)
	}
}

func TestRunAllocatesNothing(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(17, 18))
		for name, p := range plans(t) {
			args := randomArgs(rng, p)
			worker := make([]float32, p.Worker())
			n := testing.AllocsPerRun(2, func() {
				for ph := range p.Phases() {
					for c := range p.Chunks(ph) {
						p.Run(ph, c, args, worker)
					}
				}
			})
			if n != 0 {
				t.Errorf("%s allocates %v times", name, n)
			}
		}
	})
}

// TestSubnormals checks that kernels take subnormal operands and leave subnormal results as zero, and that they leave
// the control register as it was.
func TestSubnormals(t *testing.T) {
	half := float32(0.5)
	for _, level := range cpu.Levels() {
		if level == cpu.Generic {
			continue
		}
		restore := cpu.Set(level)
		for name, p := range plans(t) {
			for _, factors := range [][2]float32{{1e-40, 1}, {1, 1e-40}, {1e-20, 1e-20}} {
				args := &Args{Out: make([]float32, p.out), A: filled(p.a, factors[0]), B: filled(p.b, factors[1])}
				runPlan(p, args, rand.New(rand.NewPCG(1, 1)))
				if i := slices.IndexFunc(args.Out, func(v float32) bool { return v != 0 }); i >= 0 {
					t.Fatalf("%v %s: %v·%v gives %v", level, name, factors[0], factors[1], args.Out[i])
				}
				if factors[0]*factors[1]*half == 0 {
					t.Fatalf("%v %s: the control register was not restored", level, name)
				}
			}
		}
		restore()
	}
}

func filled(n int, v float32) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = v
	}
	return s
}

// TestNaN checks that NaN passes through ReLU and infinities through sums.
func TestNaN(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		p, err := NewMatMul(3, 40, 2, false, false)
		if err != nil {
			t.Fatal(err)
		}
		nan, inf := float32(math.NaN()), float32(math.Inf(1))
		args := &Args{A: []float32{nan, 1, inf, 1, -inf, 1}, B: make([]float32, 80), Out: make([]float32, 120)}
		for i := range args.B {
			args.B[i] = 1
		}
		args.ReLU = true
		runPlan(p, args, rand.New(rand.NewPCG(1, 1)))
		for i, v := range args.Out {
			want := [...]float32{nan, inf, 0}[i/40]
			if v != want && !(v != v && want != want) {
				t.Fatalf("element %d is %v, want %v", i, v, want)
			}
		}
	})
}

func TestBadShapes(t *testing.T) {
	for _, s := range [][3]int{{0, 1, 1}, {1, 0, 1}, {1, 1, -1}, {-3, 1, 1}, {1 << 20, 1 << 20, 1}, {1, 1 << 20, 1 << 20}, {math.MaxInt, math.MaxInt, 2}} {
		_, err := NewMatMul(s[0], s[1], s[2], false, false)
		var shape *ShapeError
		if !errors.As(err, &shape) {
			t.Errorf("matmul %v: error %v, want a ShapeError", s, err)
		}
	}
	good := square(2, 8, 6, 3, 4, 1, 1)
	if _, err := NewConv(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*ConvShape){
		"no images":        func(s *ConvShape) { s.N = 0 },
		"negative width":   func(s *ConvShape) { s.W = -1 },
		"no stride":        func(s *ConvShape) { s.StrideH = 0 },
		"negative padding": func(s *ConvShape) { s.PadL = -1 },
		"no dilation":      func(s *ConvShape) { s.DilW = 0 },
		"groups and C":     func(s *ConvShape) { s.Groups = 4 },
		"groups and OC":    func(s *ConvShape) { s.Groups = 3 },
		"tall filter":      func(s *ConvShape) { s.KH = 11 },
		"wide filter":      func(s *ConvShape) { s.DilW = 5 },
		"huge":             func(s *ConvShape) { s.N, s.C = 1<<30, 3<<28 },
		"huge filter":      func(s *ConvShape) { s.OC = math.MaxInt },
		"overflow":         func(s *ConvShape) { s.H, s.W = math.MaxInt, math.MaxInt },
	} {
		s := good
		change(&s)
		_, err := NewConv(s)
		var shape *ShapeError
		if !errors.As(err, &shape) || shape.Error() == "" {
			t.Errorf("%s: error %v, want a ShapeError", name, err)
		}
	}
}

// TestShortSlices checks that no memory is touched when a slice is too short.
func TestShortSlices(t *testing.T) {
	p, err := NewMatMul(100, 272, 520, false, false)
	if err != nil {
		t.Fatal(err)
	}
	for name, cut := range map[string]func(*Args, *[]float32){
		"Out":      func(a *Args, _ *[]float32) { a.Out = a.Out[1:] },
		"part":     func(a *Args, _ *[]float32) { a.Part, a.Lo, a.Out = true, 1, a.Out[:p.out-2] },
		"its lo":   func(a *Args, _ *[]float32) { a.Part, a.Lo = true, p.out-1 },
		"A":        func(a *Args, _ *[]float32) { a.A = a.A[1:] },
		"B":        func(a *Args, _ *[]float32) { a.B = nil },
		"bias":     func(a *Args, _ *[]float32) { a.Bias = make([]float32, p.cols-1) },
		"mask":     func(a *Args, _ *[]float32) { a.Mask = make([]float32, 1) },
		"residual": func(a *Args, _ *[]float32) { a.Residual = make([]float32, 1) },
		"worker":   func(_ *Args, w *[]float32) { *w = nil },
	} {
		args := &Args{Out: make([]float32, p.out), A: make([]float32, p.a), B: make([]float32, p.b), Shared: make([]float32, p.Shared())}
		worker := make([]float32, p.Worker())
		cut(args, &worker)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a short %s is not noticed", name)
				}
			}()
			for chunk := range p.Chunks(0) {
				p.Run(0, chunk, args, worker)
			}
		}()
	}
}

func TestPeak(t *testing.T) {
	for _, level := range cpu.Levels() {
		restore := cpu.Set(level)
		if got, want := Peak(3), 3*12*2*families[level].lanes; level != cpu.Generic && got != want || level == cpu.Generic && got != 0 {
			t.Errorf("%v: Peak(3) = %d operations", level, got)
		}
		restore()
	}
	if Peak(0) != 0 {
		t.Error("Peak(0) did something")
	}
}
