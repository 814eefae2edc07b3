package shm

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"millrace.dev/group/reduce"
)

// worker is a member in this process.
type worker struct {
	id     uint64
	door   *Door
	vector *Vector
	mean   *Mean

	mu   sync.Mutex
	team *Team
}

func (w *worker) get() *Team {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.team
}

// ample is a member's patience with others of its test, which may get the CPU late.
const ample = time.Minute

func newWorker(tb testing.TB, elements int) *worker {
	w := &worker{id: rand.Uint64()}
	var err error
	if w.door, err = Open(w.id); err != nil {
		skipUnsupported(tb, err)
	}
	w.door.patience = ample
	if w.vector, err = NewVector(elements); err != nil {
		tb.Fatal(err)
	}
	if w.mean, err = NewMean(elements); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if team := w.get(); team != nil {
			team.Close() //nolint:errcheck // always nil
		}
		for _, close := range []func() error{w.door.Close, w.vector.Close, w.mean.Close} {
			if err := close(); err != nil {
				tb.Error(err)
			}
		}
	})
	return w
}

func skipUnsupported(tb testing.TB, err error) {
	tb.Helper()
	if errors.Is(err, errors.ErrUnsupported) && runtime.GOOS != "linux" {
		tb.Skip(err)
	}
	tb.Fatal(err)
}

func newWorkers(tb testing.TB, n, elements int) []*worker {
	all := make([]*worker, n)
	for i := range all {
		all[i] = newWorker(tb, elements)
	}
	return all
}

// attach makes the view of the workers; errors by rank.
func attach(ctx context.Context, epoch uint64, all []*worker, change func(rank int, c *Config)) []error {
	ids := make([]uint64, len(all))
	for rank, w := range all {
		ids[rank] = w.id
		if old := w.get(); old != nil {
			old.Close() //nolint:errcheck // always nil
		}
	}
	errs := make([]error, len(all))
	var wait sync.WaitGroup
	for rank, w := range all {
		wait.Go(func() {
			c := Config{View: View{Epoch: epoch, Rank: rank, IDs: ids}, Vector: w.vector, Mean: w.mean}
			if change != nil {
				change(rank, &c)
			}
			var team *Team
			if team, errs[rank] = w.door.Attach(ctx, c); errs[rank] == nil {
				w.mu.Lock()
				w.team = team
				w.mu.Unlock()
			}
		})
	}
	wait.Wait()
	return errs
}

func mustAttach(tb testing.TB, epoch uint64, all []*worker) {
	tb.Helper()
	for rank, err := range attach(tb.Context(), epoch, all, nil) {
		if err != nil {
			tb.Fatalf("rank %d: %v", rank, err)
		}
	}
}

type outcome struct {
	facts reduce.Facts
	err   error
}

// begin starts a step on one worker and tells its outcome.
func (w *worker) begin(step, m uint64) chan outcome {
	c := make(chan outcome, 1)
	w.get().Begin(step, m, func(f reduce.Facts, err error) { c <- outcome{f, err} })
	return c
}

// draw makes up gradients of several magnitudes; when sick, one is not finite or not far from it.
func draw(r *rand.Rand, g []float32, sick bool) {
	x := r.Uint64()
	for i := range g {
		x = x*6364136223846793005 + 1442695040888963407
		g[i] = math.Float32frombits(uint32(x>>32)&0x80ffffff | 0x3e000000) // from 2⁻³ to 2⁻¹, of both signs
	}
	if sick {
		bad := []float32{float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), math.MaxFloat32}
		g[r.IntN(len(g))] = bad[r.IntN(len(bad))]
	}
}

// ranges cuts a vector at random and shuffles the parts.
func ranges(r *rand.Rand, elements int) [][2]int {
	var parts [][2]int
	for lo := 0; lo < elements; {
		hi := min(elements, lo+1+r.IntN(1+elements/3))
		parts = append(parts, [2]int{lo, hi})
		lo = hi
	}
	r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return parts
}

func sameBits(a, b []float32) int {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) && (a[i] == a[i] || b[i] == b[i]) {
			return i
		}
	}
	return -1
}

// Random views, sizes, weights and orders of readiness: all members get the bits of the serial reference.
func TestStepsEqualTheSerialReference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	rounds := 40
	if testing.Short() {
		rounds = 8
	}
	for round := range rounds {
		n := 2 + r.IntN(7)
		elements := []int{1 + r.IntN(100), 1 + r.IntN(5000), 1 + r.IntN(3*reduce.Chunk)}[round%3]
		all := newWorkers(t, n, elements)
		mustAttach(t, 1, all)
		for step := range uint64(3) {
			g, m := make([][]float32, n), make([]uint64, n)
			for rank, w := range all {
				g[rank] = w.vector.Elements()
				m[rank] = uint64(r.IntN(4)) * uint64(1+r.IntN(40))
				draw(r, g[rank], r.IntN(20) == 0)
			}
			want := make([]float32, elements)
			facts, err := reduce.Serial(reduce.Shared, g, m, want)
			if err != nil {
				t.Fatal(err)
			}
			results := make([]chan outcome, n)
			var wait sync.WaitGroup
			for rank, w := range all {
				results[rank] = w.begin(step, m[rank])
				parts := ranges(r, elements)
				wait.Go(func() {
					for _, p := range parts {
						w.get().Ready(p[0], p[1])
					}
				})
			}
			wait.Wait()
			for rank, w := range all {
				got := <-results[rank]
				if got.err != nil || got.facts != facts {
					t.Fatalf("%d members, %d elements, step %d, rank %d: %+v, want %+v", n, elements, step, rank, got, facts)
				}
				if i := sameBits(want, w.mean.Elements()); i >= 0 {
					t.Fatalf("%d members, %d elements, rank %d: element %d is %g, want %g", n, elements, rank, i, w.mean.Elements()[i], want[i])
				}
			}
		}
	}
}

func TestCancelEndsAStepAndKeepsGradients(t *testing.T) {
	const n, elements = 4, 700_000
	r := rand.New(rand.NewPCG(3, 4))
	all := newWorkers(t, n, elements)
	mustAttach(t, 7, all)
	kept := make([][]float32, n)
	results := make([]chan outcome, n)
	for rank, w := range all {
		draw(r, w.vector.Elements(), false)
		kept[rank] = append([]float32(nil), w.vector.Elements()...)
		results[rank] = w.begin(5, 3)
		if rank < n-1 { // the last one never gets ready
			w.get().Ready(0, elements)
		} else {
			w.get().Ready(reduce.Chunk, elements)
		}
	}
	if rank, what := all[0].get().Waiting(); rank != n-1 || what == "" {
		t.Errorf("rank 0 waits for rank %d: %q", rank, what)
	}
	if rank, what := all[n-1].get().Waiting(); rank != -1 || what == "" {
		t.Errorf("the last rank waits for rank %d: %q", rank, what)
	}
	lost := errors.New("a member is gone")
	for rank, w := range all[:n-1] {
		w.get().Cancel(lost)
		if got := <-results[rank]; !errors.Is(got.err, lost) {
			t.Fatalf("rank %d: %+v", rank, got)
		}
		if got := <-w.begin(6, 1); !errors.Is(got.err, lost) {
			t.Fatalf("a step begins after Cancel: %+v", got)
		}
		if i := sameBits(kept[rank], w.vector.Elements()); i >= 0 {
			t.Fatalf("rank %d: element %d of the gradients has changed", rank, i)
		}
	}
	// The survivors do the step again.
	survivors := all[:n-1]
	mustAttach(t, 8, survivors)
	want := make([]float32, elements)
	facts, err := reduce.Serial(reduce.Shared, kept[:n-1], []uint64{3, 3, 3}, want)
	if err != nil {
		t.Fatal(err)
	}
	for rank, w := range survivors {
		results[rank] = w.begin(5, 3)
	}
	for _, w := range survivors {
		w.get().Ready(0, elements)
	}
	for rank, w := range survivors {
		if got := <-results[rank]; got.err != nil || got.facts != facts {
			t.Fatalf("rank %d: %+v, want %+v", rank, got, facts)
		}
		if i := sameBits(want, w.mean.Elements()); i >= 0 {
			t.Fatalf("rank %d: element %d differs", rank, i)
		}
	}
	// The one that was left behind goes on in its old view, and harms nobody.
	zombie := all[n-1].get()
	zombie.Ready(0, reduce.Chunk)
	zombie.Cancel(lost)
	<-results[n-1]
	if i := sameBits(want, survivors[0].mean.Elements()); i >= 0 {
		t.Fatalf("element %d has changed", i)
	}
}

// Somebody else may write the result between two steps of a team.
func TestPrivateResultBetweenSteps(t *testing.T) {
	const elements = 5000
	all := newWorkers(t, 2, elements)
	mustAttach(t, 1, all)
	for step := range uint64(3) {
		var results []chan outcome
		for _, w := range all {
			for i := range w.vector.Elements() {
				w.vector.Elements()[i] = float32(step + 2)
			}
			results = append(results, w.begin(step, 1))
		}
		for _, w := range all {
			w.get().Ready(0, elements)
		}
		for rank, result := range results {
			if got := <-result; got.err != nil {
				t.Fatal(got.err)
			}
			r := all[rank].mean.Elements()
			if r[0] != float32(step+2) || r[elements-1] != float32(step+2) {
				t.Fatalf("step %d: result %g … %g", step, r[0], r[elements-1])
			}
		}
		if err := all[0].mean.Private(); err != nil {
			t.Fatal(err)
		}
		r := all[0].mean.Elements()
		if r[0] != 0 || r[elements-1] != 0 {
			t.Fatal("private memory is not zero")
		}
		r[elements-1] = 17
	}
}

func TestMisuseIsAnError(t *testing.T) {
	for name, misuse := range map[string]func(*Team){
		"twice":    func(t *Team) { t.Ready(0, 10); t.Ready(5, 15) },
		"beyond":   func(t *Team) { t.Ready(0, 1001) },
		"negative": func(t *Team) { t.Ready(-1, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			all := newWorkers(t, 2, 1000)
			mustAttach(t, 1, all)
			result := all[0].begin(1, 1)
			all[0].get().Ready(0, 995)
			misuse(all[0].get())
			if got := <-result; got.err == nil {
				t.Error("no error")
			}
		})
	}
	t.Run("two steps", func(t *testing.T) {
		all := newWorkers(t, 2, 1000)
		mustAttach(t, 1, all)
		all[0].begin(1, 1)
		if got := <-all[0].begin(2, 1); got.err == nil {
			t.Error("no error")
		}
	})
	t.Run("different steps", func(t *testing.T) {
		all := newWorkers(t, 2, 1000)
		mustAttach(t, 1, all)
		results := []chan outcome{all[0].begin(1, 1), all[1].begin(2, 1)}
		all[0].get().Ready(0, 1000)
		all[1].get().Ready(0, 1000)
		for rank, result := range results {
			var mismatch *MismatchError
			if got := <-result; !errors.As(got.err, &mismatch) || mismatch.Rank != 1-rank {
				t.Errorf("rank %d: %v", rank, got.err)
			}
		}
	})
}

func TestStepsAllocateNothing(t *testing.T) {
	const elements = 600_000
	all := newWorkers(t, 2, elements)
	mustAttach(t, 1, all)
	results := make(chan outcome, 2)
	done := func(f reduce.Facts, err error) { results <- outcome{f, err} }
	teams := []*Team{all[0].get(), all[1].get()}
	step := uint64(0)
	allocated := testing.AllocsPerRun(50, func() {
		step++
		for _, team := range teams {
			team.Begin(step, 1, done)
			team.Ready(reduce.Chunk, elements)
			team.Ready(0, reduce.Chunk)
		}
		for range teams {
			if got := <-results; got.err != nil {
				t.Fatal(got.err)
			}
		}
	})
	if allocated > 1 {
		t.Errorf("a step of two members allocates %g times", allocated)
	}
}
