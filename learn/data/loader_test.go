package data

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// taken is a copy of a batch.
type taken struct {
	x        []float32
	y        []int32
	indices  []int
	at, next Cursor
}

// take reads up to n batches.
func take(t testing.TB, ds Dataset, opt LoaderOptions, n int) []taken {
	t.Helper()
	l, err := NewLoader(ds, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var out []taken
	for range n {
		b, err := l.Next(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, taken{slices.Clone(b.X), slices.Clone(b.Y), slices.Clone(b.Indices), b.At, b.Next})
	}
	return out
}

func same(a, b []taken) bool {
	return slices.EqualFunc(a, b, func(a, b taken) bool {
		return slices.Equal(a.x, b.x) && slices.Equal(a.y, b.y) && slices.Equal(a.indices, b.indices) && a.at == b.at && a.next == b.next
	})
}

var manyChanges = []Augment{Crop{Pad: 2}, Flip{}, Jitter{Shift: 1, Degrees: 20}, Cutout{Size: 2}, Flip{}}

// The batches are the same bits for any number of workers and any depth, and a loader that
// starts at a batch's Next goes on as the first would have.
func TestLoaderIsDeterministic(t *testing.T) {
	defer goleak.VerifyNone(t)
	rapid.Check(t, func(rt *rapid.T) {
		ds := small(t, rapid.IntRange(5, 40).Draw(rt, "n"), 5, 5, 2)
		opt := LoaderOptions{
			Plan: Plan{
				Batch:    rapid.IntRange(1, 5).Draw(rt, "batch"),
				Shuffle:  rapid.Bool().Draw(rt, "shuffle"),
				DropLast: rapid.Bool().Draw(rt, "drop"),
				Seed:     rapid.Uint64().Draw(rt, "seed"),
			},
			Augment: manyChanges,
			Epochs:  rapid.IntRange(0, 3).Draw(rt, "epochs"),
		}
		const n = 30
		want := take(t, ds, opt, n)
		opt.Workers, opt.Ahead = rapid.IntRange(1, 8).Draw(rt, "workers"), rapid.IntRange(0, 9).Draw(rt, "ahead")
		if !same(take(t, ds, opt, n), want) {
			rt.Fatalf("%d workers, %d ahead give other batches", opt.Workers, opt.Ahead)
		}
		at := rapid.IntRange(0, len(want)-1).Draw(rt, "at")
		opt.Start = want[at].next
		rest := take(t, ds, opt, n-at-1)
		if !same(rest, want[at+1:]) {
			rt.Fatalf("resuming after batch %d gives other batches", at)
		}
	})
}

// What happens to a sample depends on the sample and the epoch, not on the batch or rank it
// falls into.
func TestAugmentationFollowsTheSample(t *testing.T) {
	ds := small(t, 24, 6, 6, 1)
	seen := map[[2]int][]float32{} // by epoch and sample
	for _, plan := range []Plan{
		{Batch: 4, Shuffle: true, Seed: 5},
		{Batch: 7, Shuffle: true, Seed: 5},
		{Batch: 3, Seed: 5},
		{Batch: 5, Seed: 5, Rank: 0, Ranks: 2},
		{Batch: 5, Seed: 5, Rank: 1, Ranks: 2},
	} {
		for _, b := range take(t, ds, LoaderOptions{Plan: plan, Augment: manyChanges, Epochs: 2}, 100) {
			for i, index := range b.indices {
				key, got := [2]int{b.at.Epoch, index}, b.x[i*36:(i+1)*36]
				if want, ok := seen[key]; ok && !slices.Equal(got, want) {
					t.Fatalf("%+v: sample %d of epoch %d comes otherwise than before", plan, index, b.at.Epoch)
				}
				seen[key] = got
			}
		}
	}
	if len(seen) != 48 {
		t.Errorf("%d samples came in two epochs of 24", len(seen))
	}
}

// The samples that come are the data set's, unchanged without augmentation.
func TestLoaderGivesTheSamples(t *testing.T) {
	ds := small(t, 10, 3)
	batches := take(t, ds, LoaderOptions{Plan: Plan{Batch: 4, Shuffle: true, Seed: 3}, Epochs: 1, Workers: 2}, 10)
	if len(batches) != 3 || len(batches[2].indices) != 2 {
		t.Fatalf("%d batches", len(batches))
	}
	values := all(t, ds)
	for _, b := range batches {
		for i, index := range b.indices {
			if !slices.Equal(b.x[i*3:i*3+3], values[index*3:index*3+3]) || b.y[i] != int32(index%3) {
				t.Errorf("sample %d came as %v, label %d", index, b.x[i*3:i*3+3], b.y[i])
			}
		}
	}
}

func TestAugmentationVariesByEpoch(t *testing.T) {
	ds := small(t, 4, 6, 6, 1)
	b := take(t, ds, LoaderOptions{Plan: Plan{Batch: 4}, Augment: []Augment{Jitter{Shift: 2, Degrees: 30}}}, 2)
	if slices.Equal(b[0].x, b[1].x) {
		t.Error("two epochs give the same images")
	}
}

func TestLoaderAllocatesNothing(t *testing.T) {
	ds, err := Normalize(small(t, 64, 8, 8, 1), Norm{Mean: []float32{0.5}, Std: []float32{0.25}})
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{0, 1, 3} {
		l, err := NewLoader(ds, LoaderOptions{Plan: Plan{Batch: 16, Shuffle: true}, Augment: manyChanges, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		if n := testing.AllocsPerRun(100, func() {
			if _, err := l.Next(ctx); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%d workers: %v allocations per batch", workers, n)
		}
		l.Close()
	}
}

// faulty fails on one sample, or waits until it is let go.
type faulty struct {
	Dataset
	bad  int
	gate chan struct{}
}

var errFaulty = errors.New("this sample is broken")

func (f faulty) Batch(dst []float32, labels []int32, indices []int) error {
	if f.gate != nil {
		<-f.gate
	}
	if slices.Contains(indices, f.bad) {
		return errFaulty
	}
	return f.Dataset.Batch(dst, labels, indices)
}

// An error comes in its turn, after the good batches before it, and stays.
func TestLoaderReportsErrorsInOrder(t *testing.T) {
	for _, workers := range []int{0, 1, 4} {
		l, err := NewLoader(faulty{Dataset: small(t, 20, 1), bad: 9}, LoaderOptions{Plan: Plan{Batch: 2}, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			if _, err := l.Next(context.Background()); err != nil {
				t.Fatalf("%d workers: batch %d: %v", workers, i, err)
			}
		}
		for range 3 {
			if _, err := l.Next(context.Background()); !errors.Is(err, errFaulty) {
				t.Fatalf("%d workers: got %v", workers, err)
			}
		}
		l.Close()
		if _, err := l.Next(context.Background()); !errors.Is(err, ErrClosed) {
			t.Errorf("a closed loader returns %v", err)
		}
		l.Close()
	}
}

// A context that ends during the wait loses no batch.
func TestLoaderWaitEndsWithTheContext(t *testing.T) {
	gate := make(chan struct{})
	l, err := NewLoader(faulty{Dataset: small(t, 20, 1), bad: -1, gate: gate}, LoaderOptions{Plan: Plan{Batch: 2}, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	if _, err := l.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	close(gate)
	b, err := l.Next(context.Background())
	if err != nil || b.At != (Cursor{}) {
		t.Fatalf("the first batch is lost: %+v, %v", b, err)
	}
	l.Close()
}

func TestLoaderEnds(t *testing.T) {
	for _, workers := range []int{0, 2} {
		l, err := NewLoader(small(t, 4, 1), LoaderOptions{Plan: Plan{Batch: 4}, Epochs: 2, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := l.Next(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			if _, err := l.Next(context.Background()); !errors.Is(err, io.EOF) {
				t.Fatalf("%d workers: got %v, want the end", workers, err)
			}
		}
		l.Close()
	}
}

func TestLoaderRefusesNonsense(t *testing.T) {
	good := Plan{Batch: 2}
	for _, opt := range []LoaderOptions{
		{},
		{Plan: Plan{Batch: 9, DropLast: true}},
		{Plan: good, Workers: -1},
		{Plan: good, Ahead: -1},
		{Plan: good, Epochs: -1},
		{Plan: good, Start: Cursor{Position: 5}},
		{Plan: good, Augment: []Augment{Flip{}}},
	} {
		if l, err := NewLoader(small(t, 4, 1), opt); err == nil {
			l.Close()
			t.Errorf("%+v is accepted", opt)
		}
	}
}

func BenchmarkOpenExtract(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Open(DefaultName, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoader(b *testing.B) {
	set, err := Open(DefaultName, Options{})
	if err != nil {
		b.Fatal(err)
	}
	ds, err := Normalize(set.Train, Norm{Mean: []float32{0.286}, Std: []float32{0.353}})
	if err != nil {
		b.Fatal(err)
	}
	for name, list := range map[string][]Augment{"plain": nil, "crop+flip": {Crop{Pad: 2}, Flip{}}, "jitter": {Jitter{Shift: 2, Degrees: 10}}} {
		b.Run(name, func(b *testing.B) {
			l, err := NewLoader(ds, LoaderOptions{Plan: Plan{Batch: 64, Shuffle: true}, Augment: list})
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.Next(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
