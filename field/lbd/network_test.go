package lbd

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"millrace.dev/field"
	"millrace.dev/field/lbd/node"
)

// A tenth of the nodes dies with 5 % loss: within two diameters, in units of a unicast with its repetitions, everybody whom the graph still
// connects with the root has a way again.
func TestRecoversFromDeaths(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 4
	}
	for seed := uint64(1); seed <= seeds; seed++ {
		in := sample(t, []string{"square", "c", "h", "ring"}[seed%4], 300, 300, "uniform", seed)
		w := network(t, in, Options{Seed: seed, Loss: 0.05})
		w.run(t, 2)
		if seed%2 == 0 { // in the middle of an epoch rather than with a wave under way
			if err := w.Run(w.Now() + epoch/2); err != nil {
				t.Fatal(err)
			}
		}
		random := rand.New(rand.NewPCG(seed, 7))
		killed := 0
		for killed < 30 {
			if i := random.IntN(300); w.Alive(i) && (i != w.Root() || seed%3 == 0) {
				w.Kill(i)
				killed++
			}
		}
		for i := range in.Sensors { // traffic shows who is gone
			if w.Alive(i) {
				w.Make(i, 1)
			}
		}
		start := w.Now()
		limit := 2 * Time(w.Diameter()) * w.Slot()
		ok, err := w.RunUntil(start+limit, w.Slot(), func() bool { return w.Root() >= 0 && len(w.Astray()) == 0 })
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("seed %d: %.2f diameters", seed, 2*float64(w.Now()-start)/float64(limit))
		if !ok {
			t.Errorf("seed %d: %d nodes astray after two diameters (%d ticks)", seed, len(w.Astray()), limit)
		}
	}
}

// The sink's way is never longer than allowed, and it brings home all packets of those that it can reach.
func TestTour(t *testing.T) {
	for seed := uint64(1); seed <= 4; seed++ {
		in := sample(t, []string{"square", "c", "h", "ring"}[seed%4], 200, 250, "uniform", seed)
		w := network(t, in, Options{Seed: seed, Loss: 0.05, Epoch: 600_000})
		if err := w.Run(20_000); err != nil {
			t.Fatal(err)
		}
		for i := range in.Sensors {
			w.Make(i, 3)
		}
		if err := w.Run(w.Now() + 60*w.Slot()); err != nil {
			t.Fatal(err)
		}
		_, core := w.MaxLoad()
		tour, err := w.Tour(w.Root())
		if err != nil {
			t.Fatal(err)
		}
		connected := 0
		for _, h := range w.Hops(w.Root()) {
			if h >= 0 {
				connected++
			}
		}
		if tour.Time > in.Sink.Deadline || tour.Stops < core || tour.Packets != uint64(3*connected) || connected < 190 {
			t.Errorf("seed %d: %+v with %d stops in the core", seed, tour, core)
		}
		for i := range in.Sensors {
			if v := w.View(i); v.Held > 0 && v.Wave.Seq > 0 {
				t.Errorf("seed %d: sensor %d still holds %d packets", seed, i, v.Held)
			}
		}
	}
}

// Stops that have died are skipped, and the way stays bounded whatever the core has become.
func TestTourAmongTheDead(t *testing.T) {
	in := sample(t, "square", 200, 250, "uniform", 3)
	w := network(t, in, Options{Seed: 3, Loss: 0.05, Epoch: 900_000})
	w.run(t, 1)
	if err := w.Run(w.Now() + 300_000); err != nil { // no wave is under way
		t.Fatal(err)
	}
	killed := 0
	for i := range in.Sensors {
		if v := w.View(i); v.Core && !v.Root && killed < 3 {
			w.Kill(i)
			killed++
		}
	}
	tour, err := w.Tour(w.Root())
	if err != nil {
		t.Fatal(err)
	}
	if tour.Skipped == 0 || tour.Time > in.Sink.Deadline || tour.Length == 0 {
		t.Errorf("%+v", tour)
	}
}

// From a depot the sink climbs to the root first.
func TestTourFromAfar(t *testing.T) {
	in := sample(t, "square", 150, 200, "uniform", 2)
	w := network(t, in, Options{Seed: 2, Epoch: 900_000})
	w.run(t, 1)
	far, most := 0, 0
	for i, h := range w.Hops(w.Root()) {
		if h > most {
			far, most = i, h
		}
	}
	tour, err := w.Tour(far)
	if err != nil || tour.Stops < 2 || tour.Time > in.Sink.Deadline {
		t.Errorf("%+v, %v", tour, err)
	}
}

func TestFixedRoot(t *testing.T) {
	in := sample(t, "ring", 150, 250, "uniform", 2)
	w := network(t, in, Options{Seed: 2, Loss: 0.05, Start: 17, Fixed: true})
	for range 5 {
		w.run(t, 1)
		if w.Root() != 17 || len(w.Astray()) > 0 {
			t.Fatalf("root %d, %d astray", w.Root(), len(w.Astray()))
		}
	}
}

// line is a chain of n sensors.
func line(n int) *field.Instance {
	in := &field.Instance{Range: 35, Sink: field.Sink{Speed: 2, Deadline: time.Hour}}
	for i := range n {
		in.Sensors = append(in.Sensors, field.Sensor{Pos: field.Point{X: 30 * float64(i)}, Weight: 1, Energy: 1})
	}
	return in
}

func TestChainOfAThousand(t *testing.T) {
	w := network(t, line(1000), Options{Seed: 1, Loss: 0.05, Epoch: 400_000})
	for e := range 3 {
		w.ResetCounts()
		w.run(t, 1)
		perNode := float64(w.Counts().Control) / 1000
		if astray := len(w.Astray()); astray > 0 || perNode > 12 {
			t.Errorf("epoch %d: %d astray, %.1f control frames per node", e, astray, perNode)
		}
	}
	if root := w.Root(); root < 200 || root > 800 {
		t.Errorf("the root is number %d of 1000 in a row", root)
	}
}

func TestCliqueOf500(t *testing.T) {
	if testing.Short() {
		t.Log("short: 150 nodes")
	}
	n := 500
	if testing.Short() {
		n = 150
	}
	in := sample(t, "square", n, 20, "uniform", 1)
	w := network(t, in, Options{Seed: 1, Loss: 0.05, Epoch: 100_000})
	for e := range 2 {
		w.ResetCounts()
		w.run(t, 1)
		perNode := float64(w.Counts().Control) / float64(n)
		t.Logf("epoch %d: %.1f control frames per node, %d of the busiest one", e, perNode, w.Counts().Busiest)
		if astray := len(w.Astray()); astray > 0 || perNode > 12 {
			t.Errorf("epoch %d: %d astray, %.1f control frames per node", e, astray, perNode)
		}
	}
}

// A chain A - B - C: B moves behind C, then C moves far and comes back. Each time all are together again within two epochs.
func TestMovedNodesRejoin(t *testing.T) {
	in := line(3)
	w := network(t, in, Options{Seed: 1, Loss: 0.05, Epoch: 20_000})
	w.run(t, 2)
	for k, step := range []struct {
		node int
		to   field.Point
	}{{1, field.Point{X: 90}}, {2, field.Point{X: 30}}, {1, field.Point{X: 60}}, {2, field.Point{X: 900}}, {2, field.Point{X: 30}}} {
		w.Move(step.node, step.to)
		w.run(t, 2)
		if astray := w.Astray(); len(astray) > 0 || w.Root() < 0 {
			t.Errorf("step %d: %v astray two epochs later", k, astray)
		}
	}
	if hops := w.Hops(w.Root()); hops[0] < 0 || hops[1] < 0 || hops[2] < 0 {
		t.Fatal("the last step should have connected all three")
	}
}

// While loads stay nearly the same so does the core: few nodes enter or leave it from epoch to epoch.
func TestHysteresis(t *testing.T) {
	in := sample(t, "square", 200, 250, "uniform", 5)
	w := network(t, in, Options{Seed: 5, Loss: 0.02})
	w.run(t, 12)
	before := make([]bool, 200)
	for i := range before {
		before[i] = w.View(i).Core
	}
	w.run(t, 2)
	changes := 0
	for i := range before {
		if w.View(i).Core != before[i] {
			changes++
		}
	}
	if _, core := w.MaxLoad(); changes > core/2 {
		t.Errorf("%d changes of a core of %d", changes, core)
	}
}

// Parents with little energy left lose their children to others: when nodes tell what is left, the one that has least
// at the end has more than when they do not.
func TestRotationByEnergy(t *testing.T) {
	least := func(tell bool) float64 {
		in := sample(t, "square", 150, 200, "uniform", 4)
		w := network(t, in, Options{Seed: 4, Epoch: 20_000})
		left := make([]float64, 150)
		for i := range left {
			left[i] = 400
		}
		for range 40 {
			w.run(t, 1)
			for i := range left {
				v := w.View(i)
				if v.Core {
					left[i] -= in.Sensors[i].Weight
				} else {
					left[i] -= float64(v.Load)
				}
				if tell {
					w.SetEnergy(i, uint8(255*max(left[i], 0)/400))
				}
			}
		}
		low := math.Inf(1)
		for _, e := range left {
			low = min(low, e)
		}
		return low
	}
	if with, without := least(true), least(false); with <= without {
		t.Errorf("the weakest node has %v left with rotation and %v without", with, without)
	}
}

// Whatever dies, moves and is lost, no way ever becomes a loop: Run checks after every event.
func TestNeverALoop(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		in := sample(t, "square", 40, 110, "heavy", seed)
		w := network(t, in, Options{Seed: seed, Loss: rapid.Float64Range(0, 0.4).Draw(rt, "loss"), Epoch: 8_000})
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			i := rapid.IntRange(0, 39).Draw(rt, "node")
			switch rapid.IntRange(0, 3).Draw(rt, "what") {
			case 0:
				w.Kill(i)
			case 1:
				w.Move(i, field.Point{X: rapid.Float64Range(0, 110).Draw(rt, "x"), Y: rapid.Float64Range(0, 110).Draw(rt, "y")})
			case 2:
				if w.Alive(i) {
					w.Make(i, 5)
				}
			}
			if err := w.Run(w.Now() + Time(rapid.IntRange(1, 9000).Draw(rt, "ticks"))); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

// The check does find loops.
func TestLoopIsSeen(t *testing.T) {
	w := network(t, line(4), Options{Seed: 1})
	w.run(t, 1)
	for i := range 4 { // as if the others had been seen in a circle
		w.stations[i].parent = node.ID((i + 1) % 4)
	}
	child := 0
	for w.View(child).Root {
		child++
	}
	w.stations[child].parent = node.Nobody // its parent is news
	w.stations[w.View(child).Parent].parent = node.ID(child)
	w.checkWay(child)
	var loop *LoopError
	if err := w.Run(w.Now() + 1); !errors.As(err, &loop) || len(loop.Way) != 2 {
		t.Fatalf("%v", err)
	}
}

func TestDeterminism(t *testing.T) {
	counts := func() Counts {
		w := network(t, sample(t, "h", 120, 200, "heavy", 9), Options{Seed: 9, Loss: 0.1})
		w.run(t, 3)
		return w.Counts()
	}
	a, b := counts(), counts()
	if a.Kinds != b.Kinds || a.Busiest != b.Busiest {
		t.Fatalf("%+v and %+v", a, b)
	}
}

func TestRefusals(t *testing.T) {
	in := line(3)
	for name, opt := range map[string]Options{"loss": {Loss: 1}, "start": {Start: 3}, "delay": {Delay: -1}} {
		if _, err := New(in, opt); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := New(line(70_000), Options{}); err == nil {
		t.Error("more sensors than ids were accepted")
	}
}
