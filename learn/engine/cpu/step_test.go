package cpu

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/optim"
	"millrace.dev/learn/tensor"
	"millrace.dev/learn/train"
)

// stepCase is a whole training step: forward, backward, SGD with momentum.
type stepCase struct {
	model string
	batch int
	shape tensor.Shape
}

var stepCases = []stepCase{
	{"mlp", 1, tensor.Shape{28, 28, 1}}, {"mlp", 4, tensor.Shape{28, 28, 1}},
	{"mlp", 16, tensor.Shape{28, 28, 1}}, {"mlp", 64, tensor.Shape{28, 28, 1}},
	{"lenet", 4, tensor.Shape{28, 28, 1}}, {"lenet", 16, tensor.Shape{28, 28, 1}}, {"lenet", 64, tensor.Shape{28, 28, 1}},
	{"cnn", 64, tensor.Shape{28, 28, 1}}, {"resnet20", 16, tensor.Shape{32, 32, 3}},
}

func (c stepCase) replica(tb testing.TB, e *Engine) engine.Replica {
	tb.Helper()
	m, err := nn.ByName(c.model, c.shape, 10)
	if err != nil {
		tb.Fatal(err)
	}
	g, err := train.StepGraph(m, c.batch, []nn.Loss{{}}, optim.SGD(0.9))
	if err != nil {
		tb.Fatal(err)
	}
	p, err := e.Compile(g, engine.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	v := p.Layout().NewVectors()
	if err := m.Init(v, 1); err != nil {
		tb.Fatal(err)
	}
	r, err := p.NewReplica(v)
	if err != nil {
		tb.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	x := r.Input("input").F32()
	for i := range x {
		x[i] = rnd.Float32()
	}
	y := r.Input(train.TargetInput).I32()
	for i := range y {
		y[i] = int32(i % 10)
	}
	optim.Hyper(r.Input(optim.HyperInput).F32(), 0, 0.001)
	return r
}

// BenchmarkStep measures training steps. With -benchtime=1000x and -cpuprofile it shows where
// the time of a step goes.
func BenchmarkStep(b *testing.B) {
	for _, c := range stepCases {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/B=%d/%dt", c.model, c.batch, threads), func(b *testing.B) {
				e := newEngine(b, threads)
				r := c.replica(b, e)
				b.ReportAllocs()
				start := cpuTime()
				for b.Loop() {
					if err := r.Run(engine.All, engine.Step{}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(cpuTime()-start)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// BenchmarkOps prints the time of every op of a step.
func BenchmarkOps(b *testing.B) {
	for _, c := range stepCases {
		b.Run(fmt.Sprintf("%s/B=%d", c.model, c.batch), func(b *testing.B) {
			r := c.replica(b, newEngine(b, 1)).(*replica)
			for i, info := range r.p.Ops() {
				b.Run(fmt.Sprintf("%02d_%s_%s", i, info.Op, info.Path), func(b *testing.B) {
					start := cpuTime()
					for b.Loop() {
						if err := r.runOp(i); err != nil {
							b.Fatal(err)
						}
					}
					used := float64(cpuTime()-start) / float64(b.N)
					b.ReportMetric(used, "cpu-ns/op")
					if info.Flops > 0 {
						b.ReportMetric(float64(info.Flops)/used, "GF/s")
					}
				})
			}
		})
	}
}

func newEngine(tb testing.TB, threads int) *Engine {
	tb.Helper()
	e, err := New(threads)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Error(err)
		}
	})
	return e
}

// TestSteadyState runs a thousand steps and expects no allocation and no garbage collection.
func TestSteadyState(t *testing.T) {
	r := stepCase{"mlp", 4, tensor.Shape{28, 28, 1}}.replica(t, newEngine(t, 2))
	var before, after runtime.MemStats
	run := func(n int) {
		for i := range n {
			if err := r.Run(engine.All, engine.Step{Index: uint64(i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	run(10)
	runtime.GC()
	runtime.ReadMemStats(&before)
	run(1000)
	runtime.ReadMemStats(&after)
	if n := after.Mallocs - before.Mallocs; n > 10 { // the runtime's own, a few at most
		t.Errorf("%d allocations in 1000 steps", n)
	}
	if n := after.NumGC - before.NumGC; n != 0 {
		t.Errorf("%d garbage collections in 1000 steps", n)
	}
}
