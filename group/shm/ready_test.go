package shm

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"millrace.dev/group/reduce"
)

// A Ready that comes to sum only when others have completed the step, and the next one has begun, leaves that alone.
func TestReadyThatOutlastsItsStep(t *testing.T) {
	const blocks = 3
	all := newWorkers(t, 2, blocks*reduce.Chunk)
	mustAttach(t, 1, all)
	late := all[0].get()
	var lateTag uint64
	for step := range uint64(3) {
		g := [][]float32{all[0].vector.Elements(), all[1].vector.Elements()}
		for rank := range g {
			draw(rand.New(rand.NewPCG(step, uint64(rank))), g[rank], false)
		}
		m := []uint64{3 + step, 5}
		want := make([]float32, blocks*reduce.Chunk)
		facts, err := reduce.Serial(reduce.Shared, g, m, want)
		if err != nil {
			t.Fatal(err)
		}
		results := []chan outcome{all[0].begin(step, m[0]), all[1].begin(step, m[1])}
		late.sumReady(lateTag) //nolint:errcheck // what a Ready of the step before does when it is late
		lateTag, _ = late.mark(0, reduce.Chunk)
		all[1].get().Ready(0, blocks*reduce.Chunk)
		late.Ready(reduce.Chunk, blocks*reduce.Chunk)
		for rank, result := range results {
			if got := <-result; got.err != nil || got.facts != facts {
				t.Fatalf("step %d, rank %d: %+v, want %+v", step, rank, got, facts)
			}
			if i := sameBits(want, all[rank].mean.Elements()); i >= 0 {
				t.Fatalf("step %d, rank %d: element %d differs", step, rank, i)
			}
		}
	}
}

// An error in the sum of one Ready ends the step before another one can complete it.
func TestErrorWhileSummingEndsTheStep(t *testing.T) {
	all := newWorkers(t, 2, 2*reduce.Chunk)
	mustAttach(t, 1, all)
	all[1].begin(2, 1)
	all[1].get().Ready(0, 2*reduce.Chunk)
	result := all[0].begin(1, 1)
	team := all[0].get()
	tag, _ := team.mark(0, reduce.Chunk)
	var mismatch *MismatchError
	if _, _, err := team.sumReady(tag); !errors.As(err, &mismatch) {
		t.Errorf("%v where the members reduce different steps", err)
	}
	team.Ready(reduce.Chunk, 2*reduce.Chunk) // as another goroutine may before the first one hears of its error
	if got := <-result; !errors.As(got.err, &mismatch) {
		t.Errorf("%+v", got)
	}
}

// Each member gets ready from several goroutines, of which some outlast the step, until all are canceled at a random
// moment and do the step again in a smaller view.
func TestReadyFromManyGoroutines(t *testing.T) {
	rounds := 4
	if testing.Short() {
		rounds = 1
	}
	r := rand.New(rand.NewPCG(5, 6))
	for round := range rounds {
		n := 5 - round%4
		elements := 1 + r.IntN(4*reduce.Chunk)
		all := newWorkers(t, n, elements)
		var readying sync.WaitGroup
		for view := uint64(1); view < 3 && len(all) > 1; view++ {
			mustAttach(t, view, all)
			for step := range uint64(4) {
				w := drawStep(t, r, all, elements)
				results := w.begin(step)
				for _, one := range all {
					w.readyFrom(r, &readying, one.get(), elements)
				}
				if step == 3 { // in the midst of it
					time.Sleep(time.Duration(r.IntN(3000)) * time.Microsecond)
					for _, one := range all {
						one.get().Cancel(errors.New("a member is gone"))
					}
				}
				w.check(t, all, results, step == 3)
			}
			last := all[len(all)-1].get()
			all = all[:len(all)-1]
			last.Close() //nolint:errcheck // always nil
		}
		readying.Wait()
	}
}

// work is a step of a view and its result.
type work struct {
	all   []*worker
	m     []uint64
	want  []float32
	facts reduce.Facts
}

func drawStep(t *testing.T, r *rand.Rand, all []*worker, elements int) *work {
	t.Helper()
	w := &work{all: all, want: make([]float32, elements)}
	var g [][]float32
	for _, one := range all {
		draw(r, one.vector.Elements(), r.IntN(20) == 0)
		g = append(g, one.vector.Elements())
		w.m = append(w.m, uint64(r.IntN(4)*r.IntN(40)))
	}
	var err error
	if w.facts, err = reduce.Serial(reduce.Shared, g, w.m, w.want); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *work) begin(step uint64) (results []chan outcome) {
	for rank, one := range w.all {
		results = append(results, one.begin(step, w.m[rank]))
	}
	return results
}

// readyFrom tells that a member's gradients are ready, in parts and from several goroutines.
func (w *work) readyFrom(r *rand.Rand, readying *sync.WaitGroup, team *Team, elements int) {
	parts := ranges(r, elements)
	const goroutines = 3
	for first := range goroutines {
		readying.Go(func() {
			for i := first; i < len(parts); i += goroutines {
				team.Ready(parts[i][0], parts[i][1])
			}
		})
	}
}

// check waits for the results. With canceled, members may have failed.
func (w *work) check(t *testing.T, all []*worker, results []chan outcome, canceled bool) {
	t.Helper()
	for rank, result := range results {
		got := <-result
		if got.err != nil && canceled {
			continue
		}
		if got.err != nil || got.facts != w.facts {
			t.Fatalf("%d members, rank %d: %+v, want %+v", len(all), rank, got, w.facts)
		}
		if i := sameBits(w.want, all[rank].mean.Elements()); i >= 0 {
			t.Fatalf("%d members, rank %d: element %d of %d differs", len(all), rank, i, len(w.want))
		}
	}
}
