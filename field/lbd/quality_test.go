package lbd

import (
	"fmt"
	"testing"
	"time"

	"millrace.dev/field"
	"millrace.dev/field/survey"
)

func sample(t testing.TB, shape string, n int, side float64, weights string, seed uint64) *field.Instance {
	t.Helper()
	sensors, err := survey.Generate(survey.Field{Shape: shape, N: n, Side: side, Weights: weights, Energy: 1, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return &field.Instance{Sensors: sensors, Range: 35, Sink: field.Sink{Speed: 2, Deadline: 8 * time.Minute}, Energy: field.FirstOrder()}
}

func TestDbg(t *testing.T) {
	for _, shape := range []string{"square", "c", "h", "ring"} {
		for _, wt := range []string{"uniform", "heavy"} {
			line := ""
			for _, k := range []int{0, 1,3,6,10,16} {
				line += fmt.Sprintf("epoch %d", k)
				var tree, got, root, ctl float64
				over, overM := 0, 0
				for seed := uint64(1); seed <= 10; seed++ {
					in := sample(t, shape, 300, 300, wt, seed)
					w, err := New(in, Options{Seed: seed, Loss: 0.05, Epoch: 40000})
					if err != nil {
						t.Fatal(err)
					}
					best := newCentral(in, -1).maxLoad(int(w.budget()))
					for range k { w.Run(w.now + 40000) }
					w.ResetCounts()
					w.Run(w.now+40000)
					l, core := w.MaxLoad()
					same := newCentral(in, w.Root()); ref:=same.maxLoad(int(w.budget()));_=ref
					root += same.maxLoad(int(w.budget()))/best/10
					same.load = nil
					for i := range in.Sensors { same.load = append(same.load, float64(w.View(i).Load)) }
					tree += same.maxLoad(int(w.budget()))/best/10
					got += float64(l)/best/10
					ctl += float64(w.Counts().Control)/3000
					if float64(l) > 1.1*ref { over++ }; if float64(l) > 1.1*best { overM++ }
					if core > int(w.budget())+2 { line += "!" }
				}
				line += fmt.Sprintf(" root %.2f tree %.2f got %.2f over %d %d ctl %.1f;  ", root, tree, got/root, over, overM, ctl)
			}
			fmt.Println(shape, wt, line)
		}
	}
}
