package vec

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"millrace.dev/internal/cpu"
)

// workload is a kernel on n elements that moves the given number of bytes for each.
type workload struct {
	name  string
	bytes int
	run   func(s *benchData)
}

// benchData are the operands of a workload: n elements, or rows×cols.
type benchData struct {
	n, rows, cols int
	a, b, c, d, e []float32
	col           [5][]float32
	half          []uint16
	bytes         []uint8
	labels        []int32
}

func newBenchData(rows, cols int) *benchData {
	n := rows * cols
	s := &benchData{n: n, rows: rows, cols: cols, half: make([]uint16, n), bytes: make([]uint8, n), labels: make([]int32, rows)}
	rng := newRand()
	for _, p := range []*[]float32{&s.a, &s.b, &s.c, &s.d, &s.e} {
		*p = make([]float32, n)
		random(rng, *p)
	}
	absGeneric(s.d, s.d)
	for i := range s.col {
		s.col[i] = make([]float32, 3*cols)
		random(rng, s.col[i])
	}
	for i := range s.labels {
		s.labels[i] = int32(rng.IntN(cols))
	}
	return s
}

// threadTime is the CPU time of this thread: other programs on the machine do not count.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// perCall is the CPU time of one call, the least of several rounds.
func perCall(run func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	run()
	calls := 1
	for {
		start := threadTime()
		for range calls {
			run()
		}
		if d := threadTime() - start; d > 2*time.Millisecond {
			break
		}
		calls *= 2
	}
	best := time.Duration(1 << 62)
	for range 7 {
		start := threadTime()
		for range calls {
			run()
		}
		best = min(best, (threadTime()-start)/time.Duration(calls))
	}
	return best
}

var workloads = []workload{
	{"axpy", 12, func(s *benchData) { Axpy(s.a, s.b, 1e-9) }},
	{"sgd", 12, func(s *benchData) { SGD(s.a, nil, s.b, SGDStep{LR: 1e-9, Scale: 1}) }},
	{"momentum", 20, func(s *benchData) { SGD(s.a, s.c, s.b, SGDStep{LR: 1e-9, Momentum: 0.5, Scale: 1e-9}) }},
	{"adam", 28, func(s *benchData) {
		Adam(s.a, s.c, s.d, s.b, AdamStep{LR: 1e-9, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Scale: 1, Step: 9})
	}},
	{"add", 12, func(s *benchData) { Binary(OpAdd, s.a, s.b, s.c) }},
	{"relu", 8, func(s *benchData) { ReLU(s.a, s.b) }},
	{"add-relu", 12, func(s *benchData) { Binary(OpAddReLU, s.a, s.b, s.c) }},
	{"relu-grad", 12, func(s *benchData) { ReLUGrad(s.a, s.b, s.c) }},
	{"bias-relu", 8, func(s *benchData) { AffineRows(s.a, s.b, nil, nil, nil, s.col[0], s.rows, s.cols, true) }},
	{"sum-cols", 4, func(s *benchData) { SumCols(s.col[0][:s.cols], s.a, s.rows, s.cols) }},
	{"bn-partial", 4, func(s *benchData) { BatchNormPartial(s.col[0], s.a, s.rows, s.cols) }},
	{"bn-apply-relu", 8, func(s *benchData) { AffineRows(s.a, s.b, nil, s.col[1], s.col[2], s.col[3], s.rows, s.cols, true) }},
	{"bn-apply-add-relu", 12, func(s *benchData) { AffineRows(s.a, s.b, s.c, s.col[1], s.col[2], s.col[3], s.rows, s.cols, true) }},
	{"bn-grad-masked", 12, func(s *benchData) { BatchNormGradPartial(s.col[0], s.a, s.b, s.c, s.col[1], s.rows, s.cols) }},
	{"bn-input-masked", 16, func(s *benchData) {
		BatchNormGradInput(s.a, nil, s.b, s.c, s.d, s.col[1], s.col[2], s.rows, s.cols)
	}},
	{"max-pool", 4, func(s *benchData) { // 2×2 pixels a window: 1¼ numbers and ¼ byte an input element
		p := s.pool()
		MaxPool(&p, s.a, s.bytes, s.b, 0, p.N*p.OutH())
	}},
	{"max-pool-grad", 6, func(s *benchData) {
		p := s.pool()
		MaxPoolGrad(&p, s.a, s.b, s.bytes, s.c, 0, p.N*p.H)
	}},
	{"exp", 8, func(s *benchData) { Exp(s.a, s.b) }},
	{"log", 8, func(s *benchData) { Log(s.a, s.d) }},
	{"sigmoid", 8, func(s *benchData) { Sigmoid(s.a, s.b) }},
	{"tanh", 8, func(s *benchData) { Tanh(s.a, s.b) }},
	{"gelu", 8, func(s *benchData) { GELU(s.a, s.b) }},
	{"gelu-tanh", 8, func(s *benchData) { GELUTanh(s.a, s.b) }},
	{"gelu-tanh-grad", 12, func(s *benchData) { GELUTanhGrad(s.a, s.b, s.c) }},
	{"softmax-xent", 8, func(s *benchData) { CrossEntropy(s.e, s.a, s.b, s.labels, s.cols, Target{Ignore: -1}, 1) }},
	{"layer-norm", 8, func(s *benchData) {
		LayerNorm(s.a, s.b, s.col[0], s.col[1], s.c, s.d, s.rows, s.cols, 1e-5)
	}},
	{"layer-norm-grad", 12, func(s *benchData) { LayerNormGrad(s.a, s.b, s.c, s.col[0], s.d, s.e, s.rows, s.cols) }},
	{"sum", 4, func(s *benchData) { Sum(s.a) }},
	{"max", 4, func(s *benchData) { Max(s.a) }},
	{"finite", 4, func(s *benchData) { Finite(s.b) }},
	{"transpose", 8, func(s *benchData) { Permute(s.a, s.b, []int{s.rows, s.cols}, []int{1, 0}, 0, s.cols) }},
	{"to-float16", 6, func(s *benchData) { ToFloat16(s.half, s.a) }},
	{"to-bfloat16", 6, func(s *benchData) { ToBFloat16(s.half, s.a) }},
	{"normal", 4, func(s *benchData) { Normal(s.a, RandKey{}, 0, 0, 1) }},
	{"dropout", 8, func(s *benchData) { Dropout(s.a, s.b, RandKey{}, 0, 0.5) }},
}

// pool is a 2×2 pool over the workload's elements: two image rows of pixels.
func (s *benchData) pool() Pool {
	return Pool{N: 1, H: 2, W: s.rows / 2, C: s.cols, KH: 2, KW: 2, StrideH: 2, StrideW: 2, DilH: 1, DilW: 1}
}

// BenchmarkKernels prints GB/s of CPU time beside that of copy on ranges of the same size: one that
// stays in the second-level cache and one that does not fit any.
func BenchmarkKernels(b *testing.B) {
	for _, size := range []struct {
		name       string
		rows, cols int
	}{{"cache", 512, 32}, {"wide", 32, 512}, {"narrow", 1024, 10}, {"memory", 1 << 18, 64}} {
		s := newBenchData(size.rows, size.cols)
		for _, l := range cpu.Levels() {
			restore := cpu.Set(l)
			copied := perCall(func() { copy(s.a, s.b) })
			limit := 8 * float64(s.n) / copied.Seconds() / 1e9
			for _, w := range workloads {
				b.Run(fmt.Sprintf("%s/%s/%s", size.name, l, w.name), func(b *testing.B) {
					var d time.Duration
					for b.Loop() {
						d = perCall(func() { w.run(s) })
					}
					rate := float64(w.bytes) * float64(s.n) / d.Seconds() / 1e9
					b.ReportMetric(rate, "GB/s")
					b.ReportMetric(rate/limit, "of-copy")
					b.ReportMetric(float64(d.Nanoseconds())/float64(s.n), "ns/elem")
					b.ReportMetric(0, "ns/op")
				})
			}
			restore()
		}
	}
}
