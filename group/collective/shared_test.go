package collective

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"millrace.dev/fabric"
	"millrace.dev/group/shm"
)

// sharingWorkers are members of one machine.
func sharingWorkers(t testing.TB, n int) []*worker {
	t.Helper()
	workers, members := newWorkers(t, n, sliceBytes, func(int) fabric.Clock { return fabric.System })
	overSockets(t, "unix", members)
	ids := make([]uint64, n)
	doors := make([]*shm.Door, n)
	for rank := range doors {
		ids[rank] = rand.Uint64()
		door, err := shm.Open(ids[rank])
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
		doors[rank] = door
		t.Cleanup(func() { door.Close() })
	}
	var all sync.WaitGroup
	for rank, w := range workers {
		all.Go(func() {
			m, err := doors[rank].Join(context.Background(), shm.View{Epoch: 3, Rank: rank, IDs: ids})
			if err != nil {
				t.Errorf("rank %d: %v", rank, err)
				return
			}
			t.Cleanup(func() { m.Close() })
			w.Share(m)
		})
	}
	if all.Wait(); t.Failed() {
		t.FailNow()
	}
	return workers
}

// ample is what a test waits at most for what comes at once.
const ample = time.Minute

// outcomes waits for the ends of calls.
func outcomes(t testing.TB, calls []*Call) []error {
	t.Helper()
	late := time.After(ample)
	errs := make([]error, len(calls))
	for i, c := range calls {
		select {
		case <-c.Released():
			errs[i] = c.Err()
		case <-late:
			ranks, what := c.Waiting()
			t.Fatalf("call %d does not end: %s, %v", i, what, ranks)
		}
	}
	return errs
}

// sharedCase is a call of all members and the results that they must get.
type sharedCase struct {
	requests []Request // by rank
	wants    []Buffer
}

// drawShared draws a call in shared memory of some kind, type and size.
func drawShared(t *testing.T, rng *rand.Rand, name string, n int) (x sharedCase) {
	kind, op := AllReduce+Kind(rng.IntN(int(Broadcast))), Sum+Op(rng.IntN(int(Mean)))
	typ, count := allTypes[rng.IntN(len(allTypes))], []int{0, 1, 17, 5000, 300_000}[rng.IntN(5)]
	root, inPlace := rng.IntN(n), rng.IntN(2) > 0
	sources := make([]Buffer, n)
	for rank := range sources {
		sources[rank] = fillBuffer(makeBuffer(typ, count), rng)
	}
	whole := makeBuffer(typ, count)
	if err := Serial(Shared, op, sources, nil, whole); err != nil {
		t.Fatal(err)
	}
	all := makeBuffer(typ, n*count)
	for rank := range n {
		copy(all.at(rank*count, (rank+1)*count), sources[rank].bytes)
	}
	for rank := range n {
		r := Request{Name: name, Kind: kind, Op: op, Algorithm: Shared, Src: cloneBuffer(sources[rank])}
		lo, hi := Part(count, n, rank)
		switch kind {
		case AllReduce:
			if r.Dst = makeBuffer(typ, count); inPlace {
				r.Src, r.Dst = Buffer{}, r.Src
			}
			x.wants = append(x.wants, whole)
		case ReduceScatter:
			if r.Dst = makeBuffer(typ, hi-lo); inPlace {
				r.Dst = r.Src.slice(lo, hi)
			}
			x.wants = append(x.wants, whole.slice(lo, hi))
		case AllGather:
			if r.Dst = makeBuffer(typ, n*count); inPlace {
				copy(r.Dst.at(rank*count, (rank+1)*count), r.Src.bytes)
				r.Src = Buffer{}
			}
			x.wants = append(x.wants, all)
		case Broadcast:
			r.Root, r.Src, r.Dst = root, Buffer{}, r.Src
			x.wants = append(x.wants, sources[root])
		}
		x.requests = append(x.requests, r)
	}
	return x
}

// TestShared: in shared memory all kinds, types, reductions and sizes have the bits of Serial, however many run side by side,
// started in different orders.
func TestShared(t *testing.T) {
	for _, n := range []int{2, 3, 5} {
		workers := sharingWorkers(t, n)
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		const side = 12 // calls
		for range seeds(10) {
			var cases []sharedCase
			for i := range side {
				cases = append(cases, drawShared(t, rng, fmt.Sprint(i), n))
			}
			var calls []*Call
			for rank, w := range workers {
				for _, i := range rng.Perm(side) {
					c, err := w.Start(cases[i].requests[rank])
					if err != nil {
						t.Fatal(err)
					}
					calls = append(calls, c)
				}
			}
			for _, err := range outcomes(t, calls) {
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, x := range cases {
				for rank, r := range x.requests {
					if want := x.wants[rank]; !bytes.Equal(r.Dst.bytes, want.bytes) {
						t.Fatalf("%d members, rank %d: %v, %v of %d × %v, differs", n, rank, r.Kind, r.Op, want.n, want.typ)
					}
				}
			}
		}
	}
}

// startSum starts a sum in shared memory of a member's rank.
func startSum(t testing.TB, w *worker, name string, count int) *Call {
	t.Helper()
	x := make([]float32, count)
	for i := range x {
		x[i] = float32(w.rank)
	}
	c, err := w.Start(Request{Name: name, Kind: AllReduce, Op: Sum, Dst: Of(x), Algorithm: Shared})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// checkSums lets all members make a sum.
func checkSums(t *testing.T, workers []*worker, name string) {
	t.Helper()
	var calls []*Call
	for _, w := range workers {
		calls = append(calls, startSum(t, w, name, 1000))
	}
	for rank, err := range outcomes(t, calls) {
		want := float32(len(workers) * (len(workers) - 1) / 2)
		if got := view[float32](calls[rank].req.Dst.bytes)[999]; err != nil || got != want {
			t.Errorf("rank %d: %v, the sum is %g, not %g", rank, err, got, want)
		}
	}
}

// TestSharedGivenUp: a call that one member gives up, at whatever time, fails on all that have no result yet, and the calls
// after it do not.
func TestSharedGivenUp(t *testing.T) {
	const n = 3
	workers := sharingWorkers(t, n)
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range int(seeds(60)) {
		who := round % n
		var calls []*Call
		for _, w := range workers {
			calls = append(calls, startSum(t, w, "given up", 100_000))
		}
		time.Sleep(time.Duration(rng.IntN(300)) * time.Microsecond)
		calls[who].Cancel(errors.New("enough"))
		for rank, err := range outcomes(t, calls) {
			var failure *Error
			if err != nil && (!errors.As(err, &failure) || !errors.Is(err, ErrCancelled) || failure.Rank != who) {
				t.Errorf("round %d, rank %d: %v", round, rank, err)
			} else if err == nil && view[float32](calls[rank].req.Dst.bytes)[99_999] != 3 {
				t.Errorf("round %d, rank %d: a wrong sum", round, rank)
			}
		}
		checkSums(t, workers, "next")
	}
}

// TestSharedNamesWhoGaveUp: not the one that stood aside as it had heard of that.
func TestSharedNamesWhoGaveUp(t *testing.T) {
	workers := sharingWorkers(t, 3)
	calls := []*Call{startSum(t, workers[0], "given up", 10), startSum(t, workers[2], "given up", 10)}
	workers[0].Engine.mu.Lock()
	calls[0].refs++ // as if it had had its turn
	workers[0].Engine.mu.Unlock()
	workers[0].exchanged(calls[0], &shm.AsideError{Rank: 1})
	calls[1].Cancel(errors.New("enough"))
	for i, err := range outcomes(t, calls) {
		var failure *Error
		if !errors.As(err, &failure) || failure.Rank != 2 || !errors.Is(err, ErrCancelled) {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

// TestSharedIsFreedInItsTurn: the buffers of a call that has a turn are free when that has come, whatever became of the call.
func TestSharedIsFreedInItsTurn(t *testing.T) {
	workers := sharingWorkers(t, 3)
	held, begun := make(chan struct{}), make(chan struct{})
	var first, second []*Call
	for rank, w := range workers {
		r := Request{Name: "first", Kind: AllReduce, Op: Sum, Dst: Of([]float32{1}), Algorithm: Shared}
		if rank == 1 {
			r.Done = func(error) { close(begun); <-held } // shared memory is busy
		}
		c, err := w.Start(r)
		if err != nil {
			t.Fatal(err)
		}
		first = append(first, c)
	}
	<-begun
	for _, w := range workers {
		second = append(second, startSum(t, w, "second", 1000))
	}
	for c, late, turned := second[1], time.Now().Add(ample), false; !turned; time.Sleep(time.Millisecond) {
		workers[1].Engine.mu.Lock()
		turned = c.turned
		workers[1].Engine.mu.Unlock()
		if time.Now().After(late) {
			t.Error("it is not given a turn")
			break
		}
	}
	second[1].Cancel(errors.New("enough"))
	select {
	case <-second[1].Released():
		t.Error("its buffers are said to be free, and are to be used in its turn")
	default:
	}
	close(held)
	for i, err := range outcomes(t, append(first, second...)) {
		if given := errors.Is(err, ErrCancelled); i < 3 && err != nil || i >= 3 && !given && (err != nil || i == 4) { // others may hear it late
			t.Errorf("call %d: %v", i, err)
		}
	}
	checkSums(t, workers, "next")
}

// TestSharedNothing: a buffer of nothing may be nil, and its member takes part.
func TestSharedNothing(t *testing.T) {
	workers := sharingWorkers(t, 3)
	var calls []*Call
	for rank, w := range workers {
		part := []float32{0}
		if rank == 0 { // of two elements in three parts
			part = nil
		}
		for _, r := range []Request{
			{Name: "part", Kind: ReduceScatter, Op: Sum, Dst: Of(part), Src: Of([]float32{1, 2})},
			{Name: "all", Kind: AllReduce, Op: Sum, Dst: Of([]int8(nil))},
			{Name: "blocks", Kind: AllGather, Dst: Of([]int8(nil))},
			{Name: "root", Kind: Broadcast, Dst: Of([]int8(nil)), Root: 1},
		} {
			r.Algorithm = Shared
			c, err := w.Start(r)
			if err != nil {
				t.Fatal(err)
			}
			calls = append(calls, c)
		}
	}
	for i, err := range outcomes(t, calls) {
		if c := calls[i]; err != nil {
			t.Errorf("%q: %v", c.req.Name, err)
		} else if rank := i / 4; c.req.Kind == ReduceScatter && rank > 0 && view[float32](c.req.Dst.bytes)[0] != float32(3*rank) {
			t.Errorf("rank %d: %v", rank, view[float32](c.req.Dst.bytes))
		}
	}
}

// TestSharedWithoutTurn: a call to which shared memory gives no turn fails on all, and the next one has that turn.
func TestSharedWithoutTurn(t *testing.T) {
	workers := sharingWorkers(t, 3)
	checkSums(t, workers, "first")
	workers[0].Engine.mu.Lock()
	workers[0].turn += 1 << 20 // as if so many were ahead
	workers[0].Engine.mu.Unlock()
	var calls []*Call
	for _, w := range workers {
		calls = append(calls, startSum(t, w, "refused", 1000))
	}
	for rank, err := range outcomes(t, calls) {
		var failure *Error
		if !errors.As(err, &failure) || failure.Rank != 0 || failure.Err != ErrCancelled {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
	workers[0].Engine.mu.Lock()
	workers[0].turn -= 1 << 20
	workers[0].Engine.mu.Unlock()
	checkSums(t, workers, "next")
}

// TestSharedMismatch: members that call differently all hear it, and can go on.
func TestSharedMismatch(t *testing.T) {
	workers := sharingWorkers(t, 3)
	for wrong := range workers {
		var calls []*Call
		for rank, w := range workers {
			count := 100
			if rank == wrong {
				count = 101
			}
			calls = append(calls, startSum(t, w, "differs", count))
		}
		for rank, err := range outcomes(t, calls) {
			if !errors.Is(err, ErrMismatch) {
				t.Errorf("rank %d: %v", rank, err)
			}
		}
		checkSums(t, workers, "next")
	}
}

// TestSharedEndsWithTheView: what is under way fails, and frees its buffers, when the engine ends.
func TestSharedEndsWithTheView(t *testing.T) {
	workers := sharingWorkers(t, 3)
	var calls []*Call
	for _, w := range workers[:2] { // the third never comes
		calls = append(calls, startSum(t, w, "incomplete", 10))
	}
	ranks, what := calls[0].Waiting()
	for start := time.Now(); !slices.Equal(ranks, []int{2}) && time.Since(start) < ample; time.Sleep(time.Millisecond) {
		ranks, what = calls[0].Waiting() // for rank 1 until its word has come
	}
	if !strings.Contains(what, "ranks [2] to start it") {
		t.Errorf("rank 0 waits for %v: %s", ranks, what)
	}
	if _, what := calls[1].Waiting(); !strings.Contains(what, "its turn") {
		t.Errorf("rank 1: %s", what)
	}
	lost := errors.New("a member is lost")
	for _, w := range workers {
		calls = append(calls, startSum(t, w, "long", 4<<20))
	}
	for _, w := range workers {
		w.Cancel(lost)
	}
	for i, err := range outcomes(t, calls) {
		if i < 2 && !errors.Is(err, lost) || err != nil && !errors.Is(err, lost) {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

// TestSharedIsChosen for long vectors where there is memory, and nothing else is where it cannot be.
func TestSharedIsChosen(t *testing.T) {
	for _, c := range []struct {
		kind   Kind
		op     Op
		bytes  int
		shared bool
		want   bool
	}{
		{AllReduce, Sum, 1 << 20, true, true}, {AllReduce, Sum, 1 << 20, false, false}, {AllReduce, Sum, 64, true, false},
		{ReduceScatter, Max, 1 << 20, true, true}, {AllGather, 0, 1 << 20, true, true}, {Broadcast, 0, 1 << 20, true, true},
		{Broadcast, 0, 1 << 20, false, false}, {Barrier, 0, 0, true, false},
	} {
		for _, n := range []int{2, 4, 16} {
			if got := Choose(c.kind, n, c.bytes, DefaultModel, c.shared); (got.Algorithm == Shared) != c.want {
				t.Errorf("%v of %d bytes over %d members: %s", c.kind, c.bytes, n, got.Reason())
			}
		}
	}
	workers := sharingWorkers(t, 2)
	var calls []*Call
	for _, w := range workers {
		for _, op := range []Op{Sum, WeightedMean} {
			c, err := w.Start(Request{Name: op.String(), Kind: AllReduce, Op: op, Weight: 1, Dst: Of(make([]float32, 1<<18))})
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Choice().Algorithm == Shared; got != (op == Sum) {
				t.Errorf("%v: %v", op, c.Choice().Algorithm)
			}
			calls = append(calls, c)
		}
	}
	for _, err := range outcomes(t, calls) {
		if err != nil {
			t.Error(err)
		}
	}
}

// TestFalseTurns: turns that no correct member gives are refused.
func TestFalseTurns(t *testing.T) {
	workers := sharingWorkers(t, 3)
	id := identity{kind: AllReduce, typ: Float32, op: Sum, algorithm: Shared, count: 5}
	turn := func(id identity, number uint64) fabric.Header {
		h := id.header(frameTurn, 3, 7, 0)
		h.Aux = number
		return h
	}
	ring, nothing := id, id
	ring.algorithm, nothing.typ = Ring, 15
	for _, c := range []struct {
		to, from int
		h        fabric.Header
	}{{0, 1, turn(id, 1)}, {1, 2, turn(id, 1)}, {1, 0, turn(ring, 1)}, {1, 0, turn(nothing, 1)}, {1, 0, turn(id, 0)}, {1, 0, turn(id, 1<<40)}} {
		if err := workers[c.to].Frame(c.from, c.h, nil); err == nil {
			t.Errorf("rank %d takes %+v of rank %d", c.to, c.h, c.from)
		}
	}
	c := startSum(t, workers[1], "under way", 5)
	turn = func(id identity, number uint64) fabric.Header {
		h := id.header(frameTurn, 3, hashOf("under way"), c.seq)
		h.Aux = number
		return h
	}
	longer := id
	longer.count++
	if workers[1].Frame(0, turn(longer, 1), nil) == nil {
		t.Error("a call has the turn of another")
	}
	if err := workers[1].Frame(0, turn(id, 1), nil); err != nil {
		t.Error(err)
	}
	if workers[1].Frame(0, turn(id, 2), nil) == nil {
		t.Error("a call has two turns")
	}
	lost := errors.New("the memory is lost")
	workers[1].memory.Cancel(lost)
	if err := outcomes(t, []*Call{c})[0]; !errors.Is(err, lost) {
		t.Errorf("a call in memory that is lost ends with %v", err)
	}
	alone, members := newWorkers(t, 2, sliceBytes, func(int) fabric.Clock { return fabric.System })
	overSockets(t, "unix", members)
	if err := alone[1].Frame(0, turn(id, 1), nil); err == nil {
		t.Error("a turn is taken without memory")
	}
	if _, err := alone[0].Start(Request{Name: "x", Kind: AllReduce, Op: Sum, Dst: Of([]float32{1}), Algorithm: Shared}); err == nil {
		t.Error("a call starts in memory that is not there")
	}
	if _, err := workers[0].Start(Request{Name: "x", Kind: AllReduce, Op: WeightedMean, Dst: Of([]float32{1}), Algorithm: Shared}); err == nil {
		t.Error("a weighted mean starts in shared memory")
	}
}
