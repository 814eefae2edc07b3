package gemm

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"millrace.dev/internal/cpu"
)

// cpuTime is the processor time of the calling thread.
func cpuTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}

// ceiling measures the multiply-adds on registers alone, in GF/s: the best of a few short runs.
func ceiling() float64 {
	best := 0.0
	for range 5 {
		start := cpuTime()
		flops := 0
		for range 20 {
			flops += Peak(2000)
		}
		best = max(best, float64(flops)/float64(cpuTime()-start))
	}
	return best
}

// benchPlan runs a plan on one thread and reports GF/s of its processor time, and their share of the ceiling.
func benchPlan(b *testing.B, p *Plan, epilogue Epilogue) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	rng := rand.New(rand.NewPCG(1, 1))
	args := &Args{Out: random(rng, p.out), A: random(rng, p.a), B: random(rng, p.b), Epilogue: epilogue}
	args.Shared = make([]float32, p.Shared())
	worker := make([]float32, p.Worker())
	top := ceiling()
	run := func() {
		for ph := range p.phases {
			for c := range p.Chunks(ph) {
				p.Run(ph, c, args, worker)
			}
		}
	}
	run()
	b.ResetTimer()
	start := cpuTime()
	for range b.N {
		run()
	}
	rate := float64(p.Flops()) * float64(b.N) / float64(cpuTime()-start)
	b.ReportMetric(rate, "GF/s")
	if top > 0 {
		b.ReportMetric(100*rate/max(top, ceiling()), "%peak")
	}
}

type matmulShape struct {
	m, n, k int
	ta, tb  bool
}

func (s matmulShape) String() string {
	name := fmt.Sprintf("%dx%dx%d", s.m, s.n, s.k)
	if s.ta {
		name += "_transA"
	}
	if s.tb {
		name += "_transB"
	}
	return name
}

var squares = []matmulShape{{m: 256, n: 256, k: 256}, {m: 512, n: 512, k: 512}, {m: 1024, n: 1024, k: 1024}, {m: 2048, n: 2048, k: 2048}}

var skinny = []matmulShape{
	{m: 64, n: 512, k: 3136}, {m: 196, n: 64, k: 576}, {m: 3136, n: 64, k: 147}, {m: 16, n: 256, k: 784},
	{m: 64, n: 256, k: 784}, {m: 784, n: 256, k: 64, ta: true}, {m: 1, n: 256, k: 784}, {m: 4, n: 256, k: 784},
	{m: 4, n: 512, k: 3136}, {m: 64, n: 3136, k: 512, tb: true}, {m: 512, n: 10, k: 64, ta: true}, {m: 64, n: 10, k: 512},
	{m: 3136, n: 512, k: 64, ta: true}, {m: 16, n: 3136, k: 512, tb: true}, {m: 4, n: 3136, k: 512, tb: true},
	{m: 784, n: 256, k: 4, ta: true}, {m: 784, n: 256, k: 1, ta: true}, {m: 64, n: 512, k: 10, tb: true},
	{m: 16, n: 256, k: 10, tb: true}, {m: 4, n: 512, k: 512, tb: true},
	{m: 800, n: 64, k: 12544, ta: true}, {m: 16, n: 512, k: 3136}, {m: 32, n: 512, k: 3136}, {m: 128, n: 512, k: 3136}, {m: 256, n: 1024, k: 1024}, {m: 128, n: 1024, k: 1024}, {m: 32, n: 3136, k: 512, tb: true},
	{m: 64, n: 256, k: 10, tb: true}, {m: 4, n: 256, k: 10, tb: true}, {m: 256, n: 10, k: 16, ta: true},
}

func BenchmarkSquare(b *testing.B) { benchMatMul(b, squares) }
func BenchmarkSkinny(b *testing.B) { benchMatMul(b, skinny) }

func benchMatMul(b *testing.B, shapes []matmulShape) {
	for _, s := range shapes {
		p, err := NewMatMul(s.m, s.n, s.k, s.ta, s.tb)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(s.String(), func(b *testing.B) { benchPlan(b, p, Epilogue{}) })
	}
}

func BenchmarkConv(b *testing.B) {
	layers := []struct {
		name string
		s    ConvShape
	}{
		{"lenet1_B4", square(4, 28, 1, 5, 32, 1, 2)}, {"lenet1_B64", square(64, 28, 1, 5, 32, 1, 2)},
		{"lenet2_B4", square(4, 14, 32, 5, 64, 1, 2)}, {"lenet2_B16", square(16, 14, 32, 5, 64, 1, 2)},
		{"lenet2_B64", square(64, 14, 32, 5, 64, 1, 2)},
		{"resnet_in", square(16, 32, 3, 3, 16, 1, 1)},
		{"resnet_16", square(16, 32, 16, 3, 16, 1, 1)}, {"resnet_16_32", square(16, 32, 16, 3, 32, 2, 1)},
		{"resnet_32", square(16, 16, 32, 3, 32, 1, 1)}, {"resnet_32_64", square(16, 16, 32, 3, 64, 2, 1)},
		{"resnet_64", square(16, 8, 64, 3, 64, 1, 1)}, {"project_32", square(16, 32, 16, 1, 32, 2, 0)},
		{"project_64", square(16, 16, 32, 1, 64, 2, 0)}, {"resnet18_64", square(2, 56, 64, 3, 64, 1, 1)},
		{"resnet18_512", square(8, 7, 512, 3, 512, 1, 1)},
		{"depthwise_64", depthwise(4, 28, 64)},
	}
	for _, l := range layers {
		c, err := NewConv(l.s)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(l.name+"/forward", func(b *testing.B) { benchPlan(b, c.Forward, Epilogue{}) })
		b.Run(l.name+"/input", func(b *testing.B) { benchPlan(b, c.GradInput, Epilogue{}) })
		b.Run(l.name+"/filter", func(b *testing.B) { benchPlan(b, c.GradFilter, Epilogue{}) })
	}
}

// BenchmarkTile runs single kernels on operands in the first-level cache.
func BenchmarkTile(b *testing.B) {
	for _, level := range cpu.Levels()[1:] {
		f := families[level]
		for nv, most := range f.rows {
			for _, mr := range []int{1, 2, 3, 4, 6, 8, 9, 12, 14, 16} {
				if mr > most {
					continue
				}
				b.Run(fmt.Sprintf("%v/%dx%d", level, mr, nv), func(b *testing.B) {
					defer cpu.Set(level)()
					benchTile(b, f, mr, nv)
				})
			}
		}
	}
}

func benchTile(b *testing.B, f family, mr, nv int) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const k = 128
	n := nv * f.lanes
	rng := rand.New(rand.NewPCG(1, 1))
	x, y, z := random(rng, mr*(k+16)), random(rng, k*n), random(rng, mr*n)
	blk := block{a: at(x, 0), b: at(y, 0), c: at(z, 0), rows: 1, m: mr, am: k + 16, cm: n, n: n, bp: panel, nk: k, ak: 1, bk: n, nj: 1}
	top := ceiling()
	start := cpuTime()
	for range b.N {
		blk.run()
	}
	rate := float64(2*mr*n*k) * float64(b.N) / float64(cpuTime()-start)
	b.ReportMetric(rate, "GF/s")
	b.ReportMetric(100*rate/top, "%peak")
}
