package field

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// Stops that are added lie on the way, in order, and each hears somebody whom no stop before it hears.
func TestFillStaysOnTheWay(t *testing.T) {
	added := 0
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 63))
		in := square(400, 400, 30, 4000, seed)
		in.Sink.Turn = 2 * time.Second
		if seed%2 == 0 {
			in.Depot = &Point{-50, 200}
		}
		if seed%3 == 0 {
			in.Obstacles = []Obstacle{{Name: "lake", Ring: []Point{{100, 100}, {300, 120}, {280, 300}}, NoFly: true}}
		}
		net, err := newNetwork(in)
		if err != nil {
			t.Fatal(err)
		}
		s := &seeder{net: net, cover: make([]bool, net.len())}
		var anchors []anchor
		for range 2 + rng.IntN(9) {
			if a, ok := net.anchorFor(int32(rng.IntN(net.len()))); ok {
				anchors = append(anchors, a)
			}
		}
		bare := net.deal(anchors, 20, rng)
		full := bare.clone()
		s.fill(&full)
		if math.Abs(net.drive(full.tours[0])-net.drive(bare.tours[0])) > 1e-6 {
			t.Errorf("seed %d: %g m with stops on the way, %g without", seed, net.drive(full.tours[0]), net.drive(bare.tours[0]))
		}
		before, after := heardBy(net, bare.tours[0]), heardBy(net, full.tours[0])
		stops := len(full.tours[0]) - len(bare.tours[0])
		if added += stops; after < before+stops {
			t.Errorf("seed %d: %d stops were added, and %d sensors are heard instead of %d", seed, stops, after, before)
		}
	}
	if added < 100 {
		t.Errorf("%d stops were added in all", added)
	}
}

// heardBy counts the nodes that stops hear.
func heardBy(net *network, tour []anchor) int {
	r := route{net: net, tours: [][]anchor{tour}}
	return len(newHearing(net).hear(&r))
}

// A stop of three seconds in a field where driving from end to end takes minutes makes plans little worse than stops that cost nothing.
func TestShortStopsCostLittle(t *testing.T) {
	n := 6000
	if testing.Short() {
		n = 800
	}
	side := 600 * math.Sqrt(float64(n)/2000)
	free := square(n, side, 30, 4*side, 64)
	costly := *free
	costly.Sink.Turn = 3 * time.Second
	opt := Options{Partial: true, Effort: 24}
	p, q := mustSolve(t, free, opt), mustSolve(t, &costly, opt)
	if q.MaxLoad > 1.7*p.MaxLoad {
		t.Errorf("largest load %g with stops of 3 s, %g with stops that cost nothing", q.MaxLoad, p.MaxLoad)
	}
}
