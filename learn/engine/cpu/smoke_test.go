package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/optim"
	"millrace.dev/learn/tensor"
	"millrace.dev/learn/train"
)

func TestSmoke(t *testing.T) {
	for _, tc := range []struct {
		model string
		batch int
		shape tensor.Shape
		reps  int
	}{
		{"mlp", 1, tensor.Shape{28, 28, 1}, 3000}, {"mlp", 4, tensor.Shape{28, 28, 1}, 3000}, {"mlp", 16, tensor.Shape{28, 28, 1}, 2000}, {"mlp", 64, tensor.Shape{28, 28, 1}, 1000},
		{"lenet", 4, tensor.Shape{28, 28, 1}, 50}, {"lenet", 16, tensor.Shape{28, 28, 1}, 20}, {"lenet", 64, tensor.Shape{28, 28, 1}, 8},
		{"resnet20", 16, tensor.Shape{32, 32, 3}, 5},
	} {
		for _, threads := range []int{1, 2} {
			e, err := New(threads)
			if err != nil {
				t.Fatal(err)
			}
			m, err := nn.ByName(tc.model, tc.shape, 10)
			if err != nil {
				t.Fatal(err)
			}
			g, err := train.StepGraph(m, tc.batch, nn.Loss{Kind: nn.CrossEntropy}, optim.SGD(0.9))
			if err != nil {
				t.Fatal(err)
			}
			p, err := e.Compile(g, engine.Options{})
			if err != nil {
				t.Fatal(err)
			}
			v := p.Layout().NewVectors()
			if err := m.Init(v, 1); err != nil {
				t.Fatal(err)
			}
			r, err := p.NewReplica(v)
			if err != nil {
				t.Fatal(err)
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
			hyper := r.Input(optim.HyperInput).F32()
			var first, last float32
			best := time.Hour
			for burst := range 5 {
				start := time.Now()
				for s := range tc.reps {
					optim.Hyper(hyper, s, 0.001)
					if err := r.Run(engine.All, engine.Step{Seed: 1, Index: uint64(s)}); err != nil {
						t.Fatal(err)
					}
					if burst == 0 && s == 0 {
						first = r.Output("loss").F32()[0]
					}
				}
				best = min(best, time.Since(start)/time.Duration(tc.reps))
			}
			last = r.Output("loss").F32()[0]
			fmt.Println(tc.model, tc.batch, "threads", threads, best, "loss", first, last, "arena", p.Memory().Ratio())
			e.Close()
		}
	}
}
