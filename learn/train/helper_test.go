package train

import (
	"context"
	"math"
	"slices"
	"testing"

	"millrace.dev/control"
	"millrace.dev/learn/data"
	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/cpu"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/optim"
)

// blobs makes n images of 6×6 in three classes: noise, and a bright stripe where the class says.
func blobs(t testing.TB, n int, seed uint64) data.Dataset {
	t.Helper()
	const size = 36
	pix, labels := make([]uint8, n*size), make([]int32, n)
	for i := range n {
		r := data.NewRand(seed, 0, uint64(i), 1)
		labels[i] = int32(i % 3)
		for k := range size {
			pix[i*size+k] = uint8(r.IntN(120))
			if k/12 == i%3 {
				pix[i*size+k] += 60
			}
		}
	}
	ds, err := data.NewBytes("blobs", pix, []int{6, 6, 1}, labels, []string{"top", "middle", "bottom"})
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

// net is a small model with all that has a state or chance in it.
func net(t testing.TB) *nn.Model {
	t.Helper()
	m, err := nn.Sequential("net", nn.Input("image", 6, 6, 1),
		nn.Conv2D{Filters: 4, Kernel: 3, Pad: nn.Same, NoBias: true}, nn.BatchNorm{Act: nn.ReLU},
		nn.MaxPool{Size: 2}, nn.Flatten{}, nn.Dropout{Rate: 0.2}, nn.Dense{Units: 8, Act: nn.Tanh}, nn.Dense{Units: 3})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func newEngine(t testing.TB, threads int) *cpu.Engine {
	t.Helper()
	e, err := cpu.New(threads)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// config is a run of 4 epochs of 7 steps, the last of which is short, with augmentation and a
// policy that lowers the learning rate.
func config(t testing.TB) Config {
	e := newEngine(t, 2)
	return Config{
		Model: net(t), Optimizer: optim.Adam(), Schedule: optim.OneCycle(0.01, 28),
		Train: blobs(t, 100, 1), Valid: blobs(t, 40, 2), Augment: []data.Augment{data.Flip{}, data.Crop{Pad: 1}},
		Batch: 16, Epochs: 4, Seed: 5, Engine: e,
		Plateau: &control.Plateau{Setting: SettingRateFactor, Signal: SignalValidLoss, Delta: 0.2, Patience: 1, Factor: 0.5, Floor: 0.01},
	}
}

func mustTrain(t testing.TB, cfg Config) *Trainer {
	t.Helper()
	tr, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return tr
}

// sameVectors compares to the bit all that is kept.
func sameVectors(t testing.TB, what string, got, want *engine.Vectors) {
	t.Helper()
	lists := map[string][2][]float32{"params": {got.Params, want.Params}, "states": {got.States, want.States}}
	for i := range want.Slots {
		lists["slots"+string(rune('0'+i))] = [2][]float32{got.Slots[i], want.Slots[i]}
	}
	for name, l := range lists {
		if !slices.EqualFunc(l[0], l[1], func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
			t.Errorf("%s: the %s differ", what, name)
		}
	}
}

// recorder is an observer that keeps what it is told.
type recorder struct {
	windows []Progress
	epochs  []Epoch
	failed  []error
}

func (r *recorder) Window(p Progress)     { r.windows = append(r.windows, p) }
func (r *recorder) Epoch(e Epoch)         { r.epochs = append(r.epochs, e) }
func (r *recorder) WriteFailed(err error) { r.failed = append(r.failed, err) }
