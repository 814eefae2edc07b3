package field

import (
	"testing"
	"time"
)

// Without no-fly zones a tour bends at stops and at the depot only: one that lost a stop does not go there any more.
func TestToursBendOnlyAtStops(t *testing.T) {
	for _, depot := range []Point{{X: 10, Y: 10}, {X: 200, Y: 200}} {
		for seed := range uint64(3) {
			in := square(60, 400, 60, 1, seed+1)
			in.Energy, in.Depot = CC2420(), &depot
			in.Sink = Sink{Speed: 5, Deadline: 5 * time.Minute, Turn: 3 * time.Second, Rate: 200}
			p := mustSolve(t, in, Options{Seed: seed, Partial: true})
			at := map[Point]bool{depot: true}
			for _, s := range p.Stops {
				at[s.Pos] = true
			}
			for _, tour := range p.Tours {
				for _, bend := range tour.Path {
					if !at[bend] {
						t.Errorf("depot %v, seed %d: the tour goes to %v, where it does not stop", depot, seed, bend)
					}
				}
			}
		}
	}
}
