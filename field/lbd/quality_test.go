package lbd

import (
	"flag"
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

var seeds = flag.Uint64("seeds", 1, "fields of each kind in TestLoadAgainstCentralTree")

// epoch is the length of epochs in tests, in ticks.
const epoch = 40_000

func network(t testing.TB, in *field.Instance, opt Options) *Network {
	t.Helper()
	if opt.Epoch == 0 {
		opt.Epoch = epoch
	}
	w, err := New(in, opt)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// run lets epochs pass.
func (w *Network) run(t testing.TB, epochs int) {
	t.Helper()
	if err := w.Run(w.now + w.opt.Epoch*Time(epochs)); err != nil {
		t.Fatal(err)
	}
}

// After forty epochs the localized protocol's largest load is at most 1.1 times that of the central tree with its own
// root and as many stops, on 95 % of the fields; no node sends more than 12 control frames in an epoch,
// repetitions included, with 5 % loss.
func TestLoadAgainstCentralTree(t *testing.T) {
	fields, good, epochs := 0, 0, 40
	if testing.Short() {
		epochs = 4 // enough for the frames, not for the loads
	}
	ratio, frames, busiest := 0.0, 0.0, int64(0)
	for _, shape := range survey.Shapes {
		for _, weights := range []string{"uniform", "heavy"} {
			for seed := uint64(1); seed <= *seeds; seed++ {
				in := sample(t, shape, 300, 300, weights, seed)
				w := network(t, in, Options{Seed: seed, Loss: 0.05})
				for e := range epochs {
					w.ResetCounts()
					w.run(t, 1)
					counts := w.Counts()
					if counts.Busiest > 12 {
						t.Errorf("%s, %s, seed %d: %d control frames of one node in epoch %d", shape, weights, seed, counts.Busiest, e)
					}
					frames, busiest = max(frames, float64(counts.Control)/300), max(busiest, counts.Busiest)
				}
				if astray := w.Astray(); len(astray) > 0 {
					t.Errorf("%s, %s, seed %d: %d nodes astray", shape, weights, seed, len(astray))
				}
				load, core := w.MaxLoad()
				central, err := field.NewReference(in, w.Budget())
				if err != nil {
					t.Fatal(err)
				}
				if core > w.Budget() {
					t.Errorf("%s, %s, seed %d: %d stops of %d", shape, weights, seed, core, w.Budget())
				}
				r := float64(load) / central.MaxLoad
				ratio += r
				if fields++; r <= 1.1 {
					good++
				}
				if core == 0 {
					t.Errorf("%s, %s, seed %d: no stops", shape, weights, seed)
				}
			}
		}
	}
	summary := fmt.Sprintf("largest load at most 1.1 x the central tree's on %d of %d fields, %.2f x on average; at most %.1f control frames per node and epoch, %d of one node",
		good, fields, ratio/float64(fields), frames, busiest)
	t.Log(summary)
	if float64(good) < 0.95*float64(fields) && !testing.Short() {
		t.Error(summary)
	}
}
