package collective

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"millrace.dev/fabric"
	"millrace.dev/fabric/sim"
	"millrace.dev/group/reduce"
)

// survivor takes frames by the ranks of the mesh and hands them on by those of a view.
type survivor struct {
	to    receiver
	ranks []int // of the view, by rank in the mesh; -1 for those outside of it
}

func (s *survivor) Body(from int, h fabric.Header) ([]byte, error) {
	return s.to.Body(s.ranks[from], h)
}
func (s *survivor) Frame(from int, h fabric.Header, body []byte) error {
	return s.to.Frame(s.ranks[from], h, body)
}
func (s *survivor) Closed(from int) {
	if s.ranks[from] >= 0 {
		s.to.Closed(s.ranks[from])
	}
}

// Members die in the middle of a step; the others cancel it and reduce the same gradients again among themselves.
func TestStepIsReducedAgainBySurvivors(t *testing.T) {
	interrupted := 0
	for seed := range seeds(60) {
		rng := rand.New(rand.NewPCG(seed, 9))
		n := 3 + rng.IntN(5)
		elements := 1 + rng.IntN(40000)
		if seed%20 == 0 {
			elements += 2 * reduce.Chunk
		}
		trainers, members := newTrainers(t, n, elements, rng)
		link := sim.Link{Min: 10 * time.Microsecond, Max: 400 * time.Microsecond, Bandwidth: 1e9, Loss: 0.01, Retry: 3 * time.Millisecond}
		w := simulated(t, seed, link, members)
		m := make([]uint64, n)
		for rank, tr := range trainers {
			m[rank] = uint64(rng.IntN(5))
			w.AfterFunc(time.Duration(rng.IntN(500))*time.Microsecond, func() {
				tr.begin(4, m[rank])
				tr.readyAll(rng)
			})
		}
		dead := map[int]bool{}
		for range 1 + rng.IntN(2) {
			dead[rng.IntN(n)] = true
		}
		w.Run(500*time.Microsecond + time.Duration(rng.IntN(2000))*time.Microsecond)
		for rank := range dead {
			w.Kill(fmt.Sprintf("r%d", rank))
		}
		w.Run(time.Duration(rng.IntN(500)) * time.Microsecond)

		ranks, alive := make([]int, n), []*trainer{}
		for rank, tr := range trainers {
			ranks[rank] = -1
			if !dead[rank] {
				ranks[rank] = len(alive)
				alive = append(alive, tr)
				if tr.end.times == 0 {
					interrupted++
				}
				tr.Cancel(errors.New("members died"))
				if tr.end.times != 1 {
					t.Fatalf("seed %d: rank %d: a cancelled step ended %d times", seed, rank, tr.end.times)
				}
			}
		}
		old := make([]int, 0, n) // ranks in the mesh, by those in the view
		for rank := range trainers {
			if !dead[rank] {
				old = append(old, rank)
			}
		}
		var weights []uint64
		for rank, tr := range alive {
			send := func(to int, p fabric.Priority, h fabric.Header, body []byte, done func(error)) {
				tr.member.send(old[to], p, h, body, done)
			}
			s, err := NewStep(StepConfig{Epoch: 8, Rank: rank, Size: len(alive), Gradients: tr.g, Result: tr.r, Send: send})
			if err != nil {
				t.Fatal(err)
			}
			tr.Reducer, tr.to = s, &survivor{s, ranks}
			weights = append(weights, m[old[rank]])
		}
		for rank, tr := range alive {
			tr.begin(4, weights[rank])
			tr.readyAll(rng)
		}
		w.Run(time.Second)
		check(t, alive, weights)
	}
	if interrupted < int(seeds(60))/2 {
		t.Errorf("only %d members were interrupted", interrupted)
	}
}
