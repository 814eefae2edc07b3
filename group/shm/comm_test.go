package shm

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"millrace.dev/group/internal/vec"
)

// sumOf is a sum of numbers in place.
func sumOf(buf []float32) Exchange {
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(buf))), len(buf)*wordSize)
	return Exchange{Kind: AllReduce, Dst: b, Src: b, Bytes: len(b), Size: wordSize, Combine: addFloat32}
}

func addFloat32(r, a, b []byte) { vec.WeightedSum(floats(r), floats(a), floats(b), 1, 1) }

// do starts the exchange that comes next and waits for its end.
func (c *Comm) do(x Exchange) error {
	c.mu.Lock()
	number := c.turn
	c.mu.Unlock()
	result := make(chan error, 1)
	x.Done = func(err error) { result <- err }
	if err := c.Start(number, x); err != nil {
		return err
	}
	return <-result
}

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
			comms[rank], errs[rank] = d.Join(tb.Context(), View{Epoch: 1, Rank: rank, IDs: ids})
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
			if err := c.do(sumOf(bufs[rank])); err != nil {
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
	for _, n := range []int{2, 3, 4, 9} {
		if n > 4 && testing.Short() {
			break
		}
		comms := newComms(t, newDoors(t, n))
		piece := pieceBytes(n)
		sizes := []int{0, 1, n - 1, n, 255, piece / 4, piece/4 + 3, 17, 2*slots*piece/4 + 11, 5, slots*piece/4 + 1}
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
	p := pass{c: c, x: &Exchange{}, pieces: slots + 1, in: slots, summed: slots, out: 1}
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
	p := pass{c: c, x: &Exchange{}, pieces: 1} // whose first piece can be put in
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
	for n := 2; n <= 1000; n++ {
		piece := pieceBytes(n)
		if own := slots * piece; own > 1<<20 || n <= 32 && n*own > 8<<20 {
			t.Errorf("%d members have %d bytes each", n, own)
		}
		if piece%4096 != 0 || piece == 0 {
			t.Errorf("%d members have pieces of %d bytes", n, piece)
		}
	}
}

// So many members that not each would have a line of a piece are refused, all of them at once.
func TestTooManyMembers(t *testing.T) {
	d := newDoors(t, 1)[0]
	view := View{Epoch: 1, IDs: make([]uint64, maxMembers+1)}
	view.IDs[0] = d.id
	var unsupported *NotSupportedError
	if _, err := d.Join(t.Context(), view); !errors.As(err, &unsupported) || unsupported.Err != nil { // nobody was asked
		t.Error(err)
	}
	p := pass{c: &Comm{stages: make([][]byte, maxMembers), piece: pieceBytes(maxMembers)}, x: &Exchange{Kind: ReduceScatter, Bytes: 1, Size: 1}}
	if p.prepare(); p.chunk < line || p.chunk*maxMembers > p.c.piece {
		t.Errorf("parts of pieces of %d bytes", p.chunk)
	}
}

// However many members are behind, who sleeps looks soon whether it is canceled.
func TestSleepIsBounded(t *testing.T) {
	c := &Comm{boards: make([]commBoard, int(2*ample/nap))}
	for i := range c.boards {
		c.boards[i] = make(commBoard, commWords)
	}
	start := time.Now()
	if c.sleep(ready, 1); time.Since(start) > ample {
		t.Error("it sleeps for each of them")
	}
}

// What is over keeps no buffer alive.
func TestBuffersAreLetGo(t *testing.T) {
	comms := newComms(t, newDoors(t, 3))
	freed := make(chan struct{}, len(comms))
	var wait sync.WaitGroup
	for _, c := range comms {
		wait.Go(func() {
			buf := new([1 << 16]float32)
			runtime.AddCleanup(buf, func(struct{}) { freed <- struct{}{} }, struct{}{})
			if err := c.do(sumOf(buf[:])); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	late := time.After(ample)
	for range comms {
		for gone := false; !gone; {
			runtime.GC()
			select {
			case <-freed:
				gone = true
			case <-time.After(time.Millisecond):
			case <-late:
				t.Fatal("a buffer is still held")
			}
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
					if err := c.do(sumOf(buf)); err != nil {
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

// A reduction in which a member stands aside fails everywhere, and those before and after it do not.
func TestAside(t *testing.T) {
	for _, n := range []int{2, 3} {
		comms := newComms(t, newDoors(t, n))
		size := 3 * slots * comms[0].piece / wordSize
		r := rand.New(rand.NewPCG(9, 10))
		for range 2 {
			checkSum(t, r, comms, size)
			var wait sync.WaitGroup
			for rank, c := range comms {
				wait.Go(func() {
					x := sumOf(make([]float32, size))
					if rank == 1 {
						x.Aside, x.Dst, x.Src = true, nil, nil
					}
					err := c.do(x)
					var aside *AsideError
					if !errors.As(err, &aside) || aside.Rank != 1 {
						t.Errorf("%d members, rank %d: %v", n, rank, err)
					}
				})
			}
			wait.Wait()
		}
		checkSum(t, r, comms, size)
	}
}

// Exchanges have their turn by number, whenever they start.
func TestTurns(t *testing.T) {
	comms := newComms(t, newDoors(t, 2))
	const count = 9
	ended := make(chan error, 2*count)
	bufs := [2][count + 1][]float32{}
	for rank, c := range comms {
		for i := range count {
			number := 1 + i // and backwards
			if rank == 1 {
				number = count - i
			}
			bufs[rank][number] = []float32{float32(10*rank + number)}
			x := sumOf(bufs[rank][number])
			x.Done = func(err error) { ended <- err }
			if err := c.Start(uint64(number), x); err != nil {
				t.Fatal(err)
			}
		}
		for _, number := range []uint64{0, 5, count + 3 + maxAhead} {
			if err := c.Start(number, sumOf(nil)); err == nil {
				t.Errorf("reduction %d starts", number)
			}
		}
	}
	for range 2 * count {
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	for rank := range comms {
		for number := 1; number <= count; number++ {
			if got, want := bufs[rank][number][0], float32(10+2*number); got != want {
				t.Errorf("rank %d, reduction %d: %g, not %g", rank, number, got, want)
			}
		}
	}
}

func TestExchangesEndWithoutAPeer(t *testing.T) {
	c := newComms(t, newDoors(t, 2))[0]
	lost := errors.New("a member is gone")
	results := make(chan error, 3)
	for number := uint64(1); number <= 3; number++ { // more than fits in the staging areas
		x := sumOf(make([]float32, 1<<20))
		x.Done = func(err error) { results <- err }
		if err := c.Start(number, x); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(2 * nap) // the first one waits for the peer
	c.Cancel(lost)
	for range 3 {
		if err := <-results; !errors.Is(err, lost) {
			t.Errorf("error %v", err)
		}
	}
	if err := c.Start(4, sumOf(nil)); !errors.Is(err, lost) {
		t.Errorf("one more starts: %v", err)
	}
}

// A member shows what it sleeps for, as long as it does.
func TestSleepersShowWhatTheyWaitFor(t *testing.T) {
	comms := newComms(t, newDoors(t, 2))
	c, peer := comms[0], comms[1]
	over := make(chan struct{})
	go func() {
		defer close(over)
		for peer.boards[1].count(ready) == 0 {
			c.sleep(ready, 1)
		}
	}()
	for end := time.Now().Add(ample); peer.boards[0].want(ready) != 1; time.Sleep(10 * time.Microsecond) {
		if time.Now().After(end) {
			t.Error("nobody sees that it waits")
			break
		}
	}
	peer.mark(ready, 1)
	<-over
	if v := peer.boards[0].want(ready); v != 0 {
		t.Errorf("awake, it waits for %d", v)
	}
}

// A piece is marked when what the mark says is so, not before.
func TestMarksComeLast(t *testing.T) {
	c := newComms(t, newDoors(t, 3))[0]
	unmarked := func(what string) {
		for k := range counts {
			if v := c.boards[0].count(k); v > 0 {
				t.Errorf("%s: count %d is %d", what, k, v)
			}
		}
	}
	p := &pass{c: c, x: &Exchange{Kind: AllReduce, Bytes: 1000, Size: 1, Combine: func(r, a, b []byte) { unmarked("it sums") }}}
	fails := func(do func()) {
		defer func() {
			if recover() == nil {
				t.Error("it has the buffer")
			}
		}()
		do()
	}
	p.prepare()
	fails(p.putIn) // there is no buffer to copy from
	unmarked("nothing is in")
	p.x.Src = make([]byte, 1000)
	p.sum()
	c.boards[0].setCount(done, 0)
	fails(p.takeOut)
	unmarked("nothing is out")
}

// What is under way when a Comm is closed is over then: it reads the memory.
func TestCloseWaits(t *testing.T) {
	c := newComms(t, newDoors(t, 2))[0]
	var over atomic.Bool
	x := sumOf(make([]float32, 1000))
	x.Done = func(error) { over.Store(true) }
	if err := c.Start(1, x); err != nil {
		t.Fatal(err)
	}
	for c.boards[0].count(ready) == 0 { // until it has begun
		time.Sleep(time.Millisecond)
	}
	c.Close() //nolint:errcheck // always nil
	if !over.Load() {
		t.Error("it is under way still")
	}
}

func TestSleepersAreWoken(t *testing.T) {
	comms := newComms(t, newDoors(t, 2))
	sleeps, marks := comms[0], comms[1]
	sleeps.boards[0].setWant(ready, 2)
	word := sleeps.boards[1].word(ready)
	start := time.Now()
	woken := make(chan struct{})
	go func() {
		for word.Load() < 2 && time.Since(start) < ample { // a signal ends a sleep, too
			sleep(word, word.Load(), ample)
		}
		close(woken)
	}()
	time.Sleep(20 * time.Millisecond)
	marks.mark(ready, 1)
	time.Sleep(20 * time.Millisecond)
	marks.mark(ready, 2)
	<-woken
	if time.Since(start) > ample/2 {
		t.Error("it is not woken")
	}
}

func TestExchangesAllocateNothing(t *testing.T) {
	comms := newComms(t, newDoors(t, 2))
	end := make(chan error, 2)
	var all [2]Exchange
	for i := range all {
		all[i] = sumOf(make([]float32, 1<<18))
		all[i].Done = func(err error) { end <- err }
	}
	number := uint64(0)
	allocated := testing.AllocsPerRun(50, func() {
		number++
		for i, c := range comms {
			if err := c.Start(number, all[i]); err != nil {
				t.Fatal(err)
			}
		}
		for range comms {
			if err := <-end; err != nil {
				t.Fatal(err)
			}
		}
	})
	if allocated > 0 {
		t.Errorf("a reduction of two members allocates %g times", allocated)
	}
}

func TestFinish(t *testing.T) {
	const n = 3
	comms := newComms(t, newDoors(t, n))
	bufs := [n][]float32{{1, 2}, {3, 4}, {8, 9}}
	var wait sync.WaitGroup
	for rank, c := range comms {
		wait.Go(func() {
			x := sumOf(bufs[rank])
			x.Finish = func(r []byte) { vec.Scaled(floats(r), floats(r), 1, 0.5) }
			if err := c.do(x); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for _, b := range bufs {
		if b[0] != 6 || b[1] != 7.5 {
			t.Errorf("halves of sums %v", b)
		}
	}
}
