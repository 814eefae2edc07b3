package shm

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"millrace.dev/fabric"
)

var sum = SumFloat32("numbers")

func newComms(tb testing.TB, doors []*Door) []*Comm {
	tb.Helper()
	n := len(doors)
	ids := make([]uint64, n)
	for rank, d := range doors {
		ids[rank] = d.id
	}
	comms := make([]*Comm, n)
	errs := make([]error, n)
	var wait sync.WaitGroup
	for rank, d := range doors {
		wait.Go(func() {
			comms[rank], errs[rank] = d.Join(tb.Context(), View{Epoch: 1, Rank: rank, IDs: ids,
				Send: func(to int, _ fabric.Priority, h fabric.Header, body []byte, _ func(error)) {
					comms[to].Frame(rank, h, body) //nolint:errcheck // never fails
				}})
		})
	}
	wait.Wait()
	for rank, err := range errs {
		if err != nil {
			tb.Fatalf("rank %d: %v", rank, err)
		}
		tb.Cleanup(func() { comms[rank].Close() }) //nolint:errcheck // always nil
	}
	return comms
}

func newDoors(tb testing.TB, n int) []*Door {
	tb.Helper()
	doors := make([]*Door, n)
	for i := range doors {
		var err error
		if doors[i], err = Open(rand.Uint64()); err != nil {
			skipUnsupported(tb, err)
		}
		doors[i].patience = ample
		tb.Cleanup(func() { doors[i].Close() }) //nolint:errcheck // nothing to lose
	}
	return doors
}

// sumInOrder is what all members must get, bit for bit.
func sumInOrder(bufs [][]float32) []float32 {
	r := append([]float32(nil), bufs[0]...)
	for _, b := range bufs[1:] {
		for i := range r {
			r[i] += b[i]
		}
	}
	return r
}

// checkSum sums buffers of size elements and compares the bits.
func checkSum(t *testing.T, r *rand.Rand, comms []*Comm, size int) {
	t.Helper()
	n := len(comms)
	bufs := make([][]float32, n)
	for rank := range bufs {
		bufs[rank] = make([]float32, size)
		if size > 0 {
			draw(r, bufs[rank], false)
		}
	}
	want := sumInOrder(bufs)
	var wait sync.WaitGroup
	for rank, c := range comms {
		wait.Go(func() {
			if err := c.AllReduce(t.Context(), Float32Bytes(bufs[rank]), sum); err != nil {
				t.Errorf("rank %d: %v", rank, err)
			}
		})
	}
	wait.Wait()
	for rank := range bufs {
		if i := sameBits(want, bufs[rank]); i >= 0 {
			t.Fatalf("%d members, %d elements, rank %d: element %d is %g, want %g", n, size, rank, i, bufs[rank][i], want[i])
		}
	}
}

func TestBuffersOfAllSizes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 2, 3, 4, 9} {
		if n > 4 && testing.Short() {
			break
		}
		comms := newComms(t, newDoors(t, n))
		piece := pieceBytes(n)
		sizes := []int{0, 1, n - 1, n, 255, directBytes / 4, directBytes/4 + 1, piece / 4, piece/4 + 3, 17, 2*slots*piece/4 + 11, 5, slots*piece/4 + 1}
		for round := range 2 {
			for _, size := range sizes {
				if size > piece && round > 0 {
					continue
				}
				checkSum(t, r, comms, size)
			}
		}
	}
}

// Results that are too long for the caches go past them.
func TestLongBuffers(t *testing.T) {
	checkSum(t, rand.New(rand.NewPCG(7, 8)), newComms(t, newDoors(t, 3)), streamBytes/4/3+5)
}

// A slot is filled again when all have taken what was there, however far they have summed.
func TestSlotsAreFreeWhenTaken(t *testing.T) {
	comms := newComms(t, newDoors(t, 3))
	c := comms[0]
	p := pass{c: c, pieces: slots + 1, in: slots, summed: slots, out: 1}
	for rank, peer := range comms {
		peer.boards[rank].setCount(ready, slots)
		peer.boards[rank].setCount(done, slots)
		if p.canIn() {
			t.Fatalf("a slot is free before rank %d has taken the piece in it", rank)
		}
		peer.boards[rank].setCount(taken, 1)
	}
	if !p.canIn() {
		t.Error("the slot is not free when all have taken the piece in it")
	}
}

// A member that has left its CPU to others than members for long sleeps through some waits, and looks again after them.
func TestNapsEnd(t *testing.T) {
	c := newComms(t, newDoors(t, 2))[0]
	p := pass{c: c, pieces: 1} // whose first piece can be put in
	c.naps = naps
	for range naps {
		if p.leave() {
			t.Fatal("it looks instead of sleeping")
		}
	}
	if !p.leave() {
		t.Error("it does not look after the naps")
	}
}

// The staging areas of many members stay small together.
func TestStagingIsBounded(t *testing.T) {
	for n := 1; n <= 1000; n++ {
		piece := pieceBytes(n)
		if own := slots * piece; own > 1<<20 || n <= 32 && n*own > 8<<20 {
			t.Errorf("%d members have %d bytes each", n, own)
		}
		if piece%4096 != 0 || piece < directBytes {
			t.Errorf("%d members have pieces of %d bytes", n, piece)
		}
	}
}

// Members that come late find all others awake or wake them, whether those look for marks or leave their CPUs to others.
func TestLateMembers(t *testing.T) {
	const n, rounds = 4, 8
	for _, spins := range []bool{true, false} {
		comms := newComms(t, newDoors(t, n))
		size := (slots+2)*comms[0].piece/wordSize + 5
		var wait sync.WaitGroup
		for rank, c := range comms {
			c.spins = spins
			wait.Go(func() {
				buf := make([]float32, size)
				for round := range rounds {
					if round%n == rank {
						time.Sleep(100 * spin)
					}
					for i := range buf {
						buf[i] = float32(rank + round)
					}
					if err := c.AllReduce(t.Context(), Float32Bytes(buf), sum); err != nil {
						t.Errorf("rank %d: %v", rank, err)
						return
					}
					const want = n * (n - 1) / 2
					for i := 0; i < size; i += 61 {
						if buf[i] != float32(want+n*round) {
							t.Errorf("rank %d, round %d: element %d is %g", rank, round, i, buf[i])
							return
						}
					}
				}
			})
		}
		wait.Wait()
	}
}

func TestDifferentOperationsAreNamed(t *testing.T) {
	for _, other := range []struct {
		name string
		tag  uint64
		size int
	}{{"others", 1, 100}, {"numbers", 2, 100}, {"numbers", 1, 101}, {"numbers", 1, 1 << 20}} {
		comms := newComms(t, newDoors(t, 3))
		errs := make([]error, 3)
		var wait sync.WaitGroup
		for rank, c := range comms {
			op, size := sum, 100
			if rank == 1 {
				op.Name, op.Tag, size = other.name, other.tag, other.size
			}
			wait.Go(func() { errs[rank] = c.AllReduce(t.Context(), Float32Bytes(make([]float32, size)), op) })
		}
		wait.Wait()
		for rank, err := range errs {
			var mismatch *MismatchError
			if !errors.As(err, &mismatch) || rank != 1 && mismatch.Rank != 1 {
				t.Errorf("rank %d: %v", rank, err)
			}
		}
	}
}

func TestOperationsEndWithoutAPeer(t *testing.T) {
	comms := newComms(t, newDoors(t, 2))
	lost := errors.New("a member is gone")
	result := make(chan error)
	const size = 2 << 20 // more than fits in the staging areas
	go func() { result <- comms[0].AllReduce(t.Context(), make([]byte, size), sum) }()
	comms[0].Cancel(lost)
	if err := <-result; !errors.Is(err, lost) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { result <- comms[1].AllReduce(ctx, make([]byte, size), sum) }()
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// A member that is slow to wake is not woken again and again.
func TestSleepersAreWokenOnce(t *testing.T) {
	comms := newComms(t, newDoors(t, 2))
	frames := 0
	marks, sleeps := comms[0], comms[1].boards[1]
	marks.view.Send = func(int, fabric.Priority, fabric.Header, []byte, func(error)) { frames++ }
	sleeps.setCount(ready, 9)
	for _, step := range []struct{ want, mark, frames uint64 }{{1, 1, 1}, {1, 2, 1}, {4, 3, 1}, {4, 4, 2}, {4, 5, 2}, {6, 6, 3}} {
		sleeps.setWant(ready, step.want)
		marks.mark(ready, step.mark)
		if frames != int(step.frames) {
			t.Errorf("after mark %d for one that waits for %d: %d frames, not %d", step.mark, step.want, frames, step.frames)
		}
	}
}

func TestOperationsAllocateNothing(t *testing.T) {
	comms := newComms(t, newDoors(t, 2))
	bufs := [][]byte{make([]byte, 1<<20), make([]byte, 1<<20)}
	start, end := make(chan struct{}), make(chan error)
	go func() {
		for range start {
			end <- comms[1].AllReduce(context.Background(), bufs[1], sum)
		}
	}()
	allocated := testing.AllocsPerRun(50, func() {
		start <- struct{}{}
		if err := comms[0].AllReduce(context.Background(), bufs[0], sum); err != nil {
			t.Fatal(err)
		}
		if err := <-end; err != nil {
			t.Fatal(err)
		}
	})
	close(start)
	if allocated > 0 {
		t.Errorf("an operation of two members allocates %g times", allocated)
	}
}

func TestMeanOfBuffers(t *testing.T) {
	const n = 3
	comms := newComms(t, newDoors(t, n))
	bufs := [n][]float32{{1, 2}, {3, 4}, {8, 9}}
	var wait sync.WaitGroup
	for rank, c := range comms {
		wait.Go(func() {
			if err := c.AllReduce(t.Context(), Float32Bytes(bufs[rank]), MeanFloat32("few", n)); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	third := float32(1.0 / 3)
	for _, b := range bufs {
		if b[0] != 12*third || b[1] != 15*third {
			t.Errorf("mean %v", b)
		}
	}
}
