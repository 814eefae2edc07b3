package collective

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"millrace.dev/fabric"
	"millrace.dev/fabric/sim"
)

// small is a frame size by which short vectors need many frames.
const small = 4096

// worker is a member with an engine.
type worker struct {
	member
	*Engine
}

func newWorkers(t testing.TB, n, slice int, clock func(rank int) fabric.Clock) ([]*worker, []*member) {
	var workers []*worker
	var members []*member
	for rank := range n {
		w := &worker{}
		e, err := New(Config{Epoch: 3, Rank: rank, Size: n, Send: w.send, Clock: clock(rank)})
		if err != nil {
			t.Fatal(err)
		}
		e.slice = slice
		for to := range e.peers {
			e.peers[to].out.limit = 4 * slice
		}
		w.Engine, w.to = e, e
		workers, members = append(workers, w), append(members, &w.member)
	}
	return workers, members
}

// simWorkers are members in a simulated network.
func simWorkers(t testing.TB, seed uint64, n, slice int, link sim.Link) (*sim.World, []*worker) {
	var world *sim.World
	later := clockLater{&world}
	workers, members := newWorkers(t, n, slice, func(int) fabric.Clock { return later })
	world = simulated(t, seed, link, members)
	return world, workers
}

// clockLater is the clock of a world that is made after its members.
type clockLater struct{ w **sim.World }

func (c clockLater) Now() time.Time { return (*c.w).Now() }
func (c clockLater) AfterFunc(d time.Duration, f func()) fabric.Timer {
	return (*c.w).AfterFunc(d, f)
}

var allTypes = []Type{Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64, Float16, BFloat16, Float32, Float64}

// makeBuffer makes a buffer of n elements.
func makeBuffer(t Type, n int) Buffer {
	switch t {
	case Int8:
		return Of(make([]int8, n))
	case Int16:
		return Of(make([]int16, n))
	case Int32:
		return Of(make([]int32, n))
	case Int64:
		return Of(make([]int64, n))
	case Uint8:
		return Of(make([]uint8, n))
	case Uint16:
		return Of(make([]uint16, n))
	case Uint32:
		return Of(make([]uint32, n))
	case Uint64:
		return Of(make([]uint64, n))
	case Float16:
		return OfFloat16(make([]uint16, n))
	case BFloat16:
		return OfBFloat16(make([]uint16, n))
	case Float32:
		return Of(make([]float32, n))
	}
	return Of(make([]float64, n))
}

// fillBuffer draws elements: of all bits for integers, normal ones for floats.
func fillBuffer(b Buffer, rng *rand.Rand) Buffer {
	switch b.typ {
	case Float16:
		for i, x := 0, view[uint16](b.bytes); i < len(x); i++ {
			x[i] = toFloat16(float32(rng.NormFloat64()))
		}
	case BFloat16:
		for i, x := 0, view[uint16](b.bytes); i < len(x); i++ {
			x[i] = toBFloat16(float32(rng.NormFloat64()))
		}
	case Float32:
		for i, x := 0, view[float32](b.bytes); i < len(x); i++ {
			x[i] = float32(rng.NormFloat64())
		}
	case Float64:
		for i, x := 0, view[float64](b.bytes); i < len(x); i++ {
			x[i] = rng.NormFloat64()
		}
	default:
		for i := range b.bytes {
			b.bytes[i] = byte(rng.Uint32())
		}
	}
	return b
}

func cloneBuffer(b Buffer) Buffer {
	b.bytes = bytes.Clone(b.bytes)
	return b
}

// task is a property's case: one operation on n members.
type operation struct {
	kind      Kind
	op        Op
	typ       Type
	algorithm Algorithm
	n, count  int
	root      int
	inPlace   bool
	seed      uint64
}

func drawOperation(rt *rapid.T) operation {
	o := operation{
		kind:    rapid.SampledFrom([]Kind{AllReduce, AllReduce, AllReduce, ReduceScatter, AllGather, Broadcast, Barrier}).Draw(rt, "kind"),
		op:      Op(rapid.IntRange(int(Sum), int(WeightedMean)).Draw(rt, "op")),
		typ:     rapid.SampledFrom(allTypes).Draw(rt, "type"),
		n:       rapid.IntRange(1, 9).Draw(rt, "n"),
		inPlace: rapid.Bool().Draw(rt, "in place"),
		seed:    rapid.Uint64().Draw(rt, "seed"),
	}
	o.root = rapid.IntRange(0, o.n-1).Draw(rt, "root")
	if o.op == WeightedMean && !o.typ.float() {
		o.op = Mean
	}
	for {
		o.algorithm = Algorithm(rapid.IntRange(0, int(Star)).Draw(rt, "algorithm"))
		if o.algorithm == Auto || o.algorithm.Can(o.kind) {
			break
		}
	}
	counts := []int{0, 1, max(0, o.n-1), o.n, 1000, small / o.typ.Size(), 9001}
	o.count = rapid.SampledFrom(counts).Draw(rt, "count")
	if !testing.Short() && rapid.IntRange(0, 24).Draw(rt, "large") == 0 {
		o.count = 1<<20 + 3
	}
	return o
}

func (o operation) String() string {
	return fmt.Sprintf("%v %v of %d × %v by %v, %d members, root %d, in place %v, seed %d", o.kind, o.op, o.count, o.typ, o.algorithm,
		o.n, o.root, o.inPlace, o.seed)
}

// request makes the request of a rank from its source, and says where its result will be.
func (o operation) request(rank int, source Buffer, weight uint64) (Request, Buffer) {
	r := Request{Name: "w", Kind: o.kind, Op: o.op, Weight: weight, Root: o.root, Algorithm: o.algorithm}
	switch o.kind {
	case AllReduce, Broadcast:
		if o.inPlace || o.kind == Broadcast {
			r.Dst = cloneBuffer(source)
		} else {
			r.Src, r.Dst = source, makeBuffer(o.typ, o.count)
		}
	case ReduceScatter:
		lo, hi := Part(o.count, o.n, rank)
		r.Src, r.Dst = source, makeBuffer(o.typ, hi-lo)
		if o.inPlace {
			r.Src = cloneBuffer(source)
			r.Dst = r.Src.slice(lo, hi)
		}
	case AllGather:
		r.Src, r.Dst = source, makeBuffer(o.typ, o.n*o.count)
		if o.inPlace {
			copy(r.Dst.at(rank*o.count, (rank+1)*o.count), source.bytes)
			r.Src = Buffer{}
		}
	}
	return r, r.Dst
}

// want is what a rank is to get.
func (o operation) want(rank int, used Algorithm, sources []Buffer, weights []uint64) (Buffer, error) {
	switch o.kind {
	case AllReduce, ReduceScatter:
		all := makeBuffer(o.typ, o.count)
		if err := Serial(used, o.op, sources, weights, all); err != nil {
			return Buffer{}, err
		}
		if o.kind == ReduceScatter {
			lo, hi := Part(o.count, o.n, rank)
			return all.slice(lo, hi), nil
		}
		return all, nil
	case AllGather:
		all := makeBuffer(o.typ, o.n*o.count)
		for r, s := range sources {
			copy(all.at(r*o.count, (r+1)*o.count), s.bytes)
		}
		return all, nil
	case Broadcast:
		return sources[o.root], nil
	}
	return Buffer{}, nil
}

func (o operation) run(t interface{ Fatalf(string, ...any) }, world *sim.World, workers []*worker) {
	rng := rand.New(rand.NewPCG(o.seed, 1))
	sources, weights := make([]Buffer, o.n), make([]uint64, o.n)
	results, calls := make([]Buffer, o.n), make([]*Call, o.n)
	for rank := range o.n {
		sources[rank] = fillBuffer(makeBuffer(o.typ, o.count), rng)
		if rng.IntN(4) > 0 {
			weights[rank] = uint64(rng.IntN(9))
		}
	}
	keep := make([]Buffer, o.n)
	for rank, w := range workers {
		keep[rank] = cloneBuffer(sources[rank])
		r, dst := o.request(rank, sources[rank], weights[rank])
		results[rank] = dst
		world.AfterFunc(time.Duration(rng.IntN(2000))*time.Microsecond, func() {
			c, err := w.Start(r)
			if err != nil {
				t.Fatalf("%v: rank %d: %v", o, rank, err)
			}
			calls[rank] = c
		})
	}
	over := func() bool {
		for _, c := range calls {
			if c == nil || c.result != freed {
				return false
			}
		}
		return true
	}
	if !world.RunUntil(over, 10*time.Second) {
		for rank, c := range calls {
			if c.result != freed {
				_, what := c.Waiting()
				t.Fatalf("%v: rank %d hangs: %s", o, rank, what)
			}
		}
	}
	used := calls[0].Choice().Algorithm
	for rank, c := range calls {
		if c.Err() != nil {
			t.Fatalf("%v: rank %d: %v", o, rank, c.Err())
		}
		want, err := o.want(rank, used, keep, weights)
		if err != nil {
			t.Fatalf("%v", err)
		}
		if !bytes.Equal(results[rank].bytes, want.bytes) {
			t.Fatalf("%v (%v): rank %d has another result than the serial reference", o, used, rank)
		}
	}
}

func TestOperationsGiveTheSerialBits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := drawOperation(rt)
		world, workers := simWorkers(t, o.seed, o.n, small, fast)
		o.run(rt, world, workers)
		o.seed++ // the same name once more
		o.run(rt, world, workers)
		checkIdle(rt, workers)
	})
}

// checkIdle asserts that nothing is left of calls.
func checkIdle(t interface{ Fatalf(string, ...any) }, workers []*worker) {
	for rank, w := range workers {
		if w.active != 0 || w.early != 0 {
			t.Fatalf("rank %d has %d calls under way, and knows of %d others", rank, w.active, w.early)
		}
		for to := range w.peers {
			p := &w.peers[to]
			if p.risk != 0 || p.early != 0 || p.block != nil || p.granted != nil || p.out.forward.len()+p.out.fresh.len()+p.out.flying.len() != 0 {
				t.Fatalf("rank %d towards %d: risk %d, early %d, outbox %d+%d+%d", rank, to, p.risk, p.early,
					p.out.forward.len(), p.out.fresh.len(), p.out.flying.len())
			}
		}
		for _, n := range w.names {
			if len(n.early) != 0 {
				t.Fatalf("rank %d keeps %d calls of %q", rank, len(n.early), n.name)
			}
		}
	}
}

// Every type, reduction and algorithm, at every number of members, on a size that needs several slices.
func TestEveryReduction(t *testing.T) {
	count := 1<<20 + 3
	if testing.Short() {
		count = 1<<15 + 3
	}
	seed := uint64(0)
	for a := Ring; a <= Star; a++ {
		for _, typ := range allTypes {
			seed++
			o := operation{kind: AllReduce, op: Op(1 + seed%uint64(WeightedMean)), typ: typ, algorithm: a, n: 2 + int(seed)%4,
				count: count / typ.Size(), inPlace: seed%2 == 0, seed: seed}
			if o.op == WeightedMean && !typ.float() {
				o.op = Mean
			}
			world, workers := simWorkers(t, seed, o.n, sliceBytes, fast)
			o.run(t, world, workers)
		}
	}
}

var errEnough = errors.New("enough")

func TestMismatchIsToldToAll(t *testing.T) {
	x := func(n int) Buffer { return Of(make([]float32, n)) }
	right := Request{Name: "layer3/weights", Kind: AllReduce, Op: Sum, Dst: x(10)}
	for name, wrong := range map[string]Request{
		"size":      {Kind: AllReduce, Op: Sum, Dst: x(12)},
		"no size":   {Kind: AllReduce, Op: Sum, Dst: x(0)},
		"large":     {Kind: AllReduce, Op: Sum, Dst: x(1 << 20)},
		"type":      {Kind: AllReduce, Op: Sum, Dst: Of(make([]int32, 10))},
		"reduction": {Kind: AllReduce, Op: Max, Dst: x(10)},
		"algorithm": {Kind: AllReduce, Op: Sum, Dst: x(10), Algorithm: Ring},
		"kind":      {Kind: Broadcast, Root: 1, Dst: x(10)},
		"own root":  {Kind: Broadcast, Root: 0, Dst: x(10)},
		"gather":    {Kind: AllGather, Dst: x(60)},
		"barrier":   {Kind: Barrier},
		"invalid":   {Kind: AllGather, Dst: x(61)},
	} {
		for odd := range 6 {
			for _, algorithm := range []Algorithm{HalvingDoubling, Tree, Star} {
				world, workers := simWorkers(t, uint64(odd), 6, sliceBytes, fast)
				wrong.Name = right.Name
				errs := make([]error, 6)
				start := world.Now()
				for rank, w := range workers {
					r := right
					r.Algorithm = algorithm
					if rank == odd {
						r = wrong
					}
					r.Done = func(err error) { errs[rank] = err }
					if _, err := w.Start(r); err != nil {
						errs[rank] = err
					}
				}
				all := func() bool {
					for _, err := range errs {
						if err == nil {
							return false
						}
					}
					return true
				}
				if !world.RunUntil(all, 10*time.Second) {
					t.Fatalf("%s, rank %d, %v: not all know: %v", name, odd, algorithm, errs)
				}
				if d := world.Now().Sub(start); d > time.Second {
					t.Errorf("%s, rank %d, %v: took %v", name, odd, algorithm, d)
				}
				for rank, err := range errs {
					kind := ErrMismatch
					if name == "invalid" {
						kind = ErrInvalid
					}
					if !errors.Is(err, kind) || !strings.Contains(err.Error(), `"layer3/weights"`) || !strings.Contains(err.Error(), fmt.Sprintf("rank %d", odd)) {
						t.Fatalf("%s, rank %d, %v: rank %d got %v", name, odd, algorithm, rank, err)
					}
				}
				world.Run(time.Second)
				checkIdle(t, workers)
				// The name works again.
				operation{kind: AllReduce, op: Sum, typ: Float32, n: 6, count: 10, seed: 1}.again(t, world, workers, right.Name)
			}
		}
	}
}

// again runs an operation under a name.
func (o operation) again(t *testing.T, world *sim.World, workers []*worker, name string) {
	t.Helper()
	left := len(workers)
	for _, w := range workers {
		_, err := w.Start(Request{Name: name, Kind: o.kind, Op: o.op, Dst: makeBuffer(o.typ, o.count), Done: func(err error) {
			if err == nil {
				left--
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !world.RunUntil(func() bool { return left == 0 }, time.Second) {
		t.Fatal("the name does not work after a failure")
	}
}

// Calls need no global order: each member starts the same names in an order of its own.
func TestNoGlobalOrder(t *testing.T) {
	for seed := range seeds(8) {
		const n, names = 4, 30
		world, workers := simWorkers(t, seed, n, small, fast)
		done := 0
		for rank, w := range workers {
			rng := rand.New(rand.NewPCG(seed, uint64(rank)))
			for _, i := range rng.Perm(names) {
				size := []int{1, 100, 3000, 20000}[i%4]
				x := make([]int64, size)
				for k := range x {
					x[k] = int64(rank + i)
				}
				world.AfterFunc(time.Duration(rng.IntN(100))*time.Millisecond, func() {
					_, err := w.Start(Request{Name: fmt.Sprint("bucket", i), Kind: AllReduce, Op: Sum, Dst: Of(x), Done: func(err error) {
						if err != nil || x[0] != int64(n*i+6) || x[size-1] != x[0] {
							t.Errorf("bucket %d on rank %d: %d, %v", i, rank, x[0], err)
						}
						done++
					}})
					if err != nil {
						t.Error(err)
					}
				})
			}
		}
		if !world.RunUntil(func() bool { return done == n*names }, time.Minute) {
			t.Fatalf("%d of %d done", done, n*names)
		}
		world.Run(time.Second)
		checkIdle(t, workers)
	}
}

// A member that starts nothing remembers no more calls of others than the bound, though nothing of them has to be kept.
func TestCallsOfOthersAreBounded(t *testing.T) {
	for _, kind := range []uint8{frameAsk, frameAbort} {
		_, workers := simWorkers(t, 1, 2, sliceBytes, fast)
		w := workers[0]
		var err error
		known := 0
		for ; err == nil && known < 2*MaxNames; known++ {
			err = w.Frame(1, fabric.Header{Type: kind, Epoch: w.cfg.Epoch, Bucket: uint32(known % 10), Step: uint64(known/10) << 32}, nil)
		}
		if err == nil || known != MaxNames+1 || w.early != MaxNames {
			t.Errorf("%d calls of others are known, then %v", known, err)
		}
		w.Cancel(errEnough)
		if w.early != 0 {
			t.Errorf("%d calls are known at the end", w.early)
		}
	}
}

// A member that starts nothing keeps no more than the bound, whatever the others start.
func TestEarlyFramesAreBounded(t *testing.T) {
	for _, size := range []int{10, 2000, 1 << 19} {
		if testing.Short() && size != 2000 {
			continue
		}
		world, workers := simWorkers(t, 1, 3, sliceBytes, fast)
		calls := 12 << 20 / max(size*4, 2048)
		start := func(w *worker) (done *int) {
			done = new(int)
			for i := range calls {
				if _, err := w.Start(Request{Name: fmt.Sprint(i), Kind: AllReduce, Op: Max, Dst: Of(make([]float32, size)), Done: func(err error) {
					if err != nil {
						t.Error(err)
					}
					*done++
				}}); err != nil {
					t.Fatal(err)
				}
			}
			return done
		}
		start(workers[1])
		start(workers[2])
		world.Run(2 * time.Second)
		late := workers[0]
		for from := 1; from <= 2; from++ {
			kept := late.peers[from].early
			if from == 2 && kept == 0 || kept > EarlyBytes || kept > EarlyBytes/2 && workers[from].peers[0].risk < kept {
				t.Fatalf("size %d: %d bytes of rank %d are kept, which knows of %d", size, kept, from, workers[from].peers[0].risk)
			}
		}
		done := start(late)
		world.Run(10 * time.Second)
		if *done != calls {
			t.Fatalf("size %d: %d of %d done", size, *done, calls)
		}
		checkIdle(t, workers)
	}
}

func TestCancelIsLocalAtOnceAndToldToAll(t *testing.T) {
	for seed := range seeds(100) {
		rng := rand.New(rand.NewPCG(seed, 5))
		n := 2 + rng.IntN(4)
		world, workers := simWorkers(t, seed, n, small, fast)
		errs, ends := make([]error, n), make([]int, n)
		var calls []*Call
		for rank, w := range workers {
			if rank == n-1 && seed%2 == 0 {
				break // never starts
			}
			c, err := w.Start(Request{Name: "x", Kind: AllReduce, Op: Sum, Dst: Of(make([]float32, 100000)), Done: func(err error) {
				errs[rank] = err
				ends[rank]++
			}})
			if err != nil {
				t.Fatal(err)
			}
			calls = append(calls, c)
		}
		world.Run(time.Duration(rng.IntN(800)) * time.Microsecond)
		victim := calls[rng.IntN(len(calls))]
		was := victim.result
		victim.Cancel(errEnough)
		victim.Cancel(errEnough)
		if was == pending && !errors.Is(victim.Err(), ErrCancelled) || was != pending && victim.Err() != nil {
			t.Fatalf("cancelled: %v", victim.Err())
		}
		world.Run(time.Second)
		for rank, c := range calls {
			if ends[rank] != 1 || c.result != freed {
				t.Fatalf("rank %d: %d ends, %v, state %d", rank, ends[rank], errs[rank], c.result)
			}
		}
		if len(calls) < n { // the last one learns when it starts
			c, err := workers[n-1].Start(Request{Name: "x", Kind: AllReduce, Op: Sum, Dst: Of(make([]float32, 100000))})
			if err != nil || !errors.Is(c.Err(), ErrCancelled) {
				t.Fatal(err, c.Err())
			}
		}
		world.Run(time.Second)
		checkIdle(t, workers)
	}
}

// Any member may die at any time: the others' calls end with an error or not at all, and nothing hangs once the
// engines are cancelled.
func TestKills(t *testing.T) {
	for seed := range seeds(100) {
		rng := rand.New(rand.NewPCG(seed, 6))
		n := 2 + rng.IntN(5)
		world, workers := simWorkers(t, seed, n, small, fast)
		ends := make([]int, n)
		for rank, w := range workers {
			if _, err := w.Start(Request{Name: "x", Kind: AllReduce, Op: Sum, Dst: Of(make([]float32, 1+rng.IntN(2)*100000)), Done: func(err error) {
				ends[rank]++
			}}); err != nil {
				t.Fatal(err)
			}
		}
		dead := rng.IntN(n)
		world.AfterFunc(time.Duration(rng.IntN(1500))*time.Microsecond, func() { world.Kill(fmt.Sprintf("r%d", dead)) })
		world.Run(5 * time.Second)
		for rank, w := range workers {
			if rank == dead {
				continue
			}
			if ends[rank] != 1 {
				t.Fatalf("seed %d: rank %d: %d ends", seed, rank, ends[rank])
			}
			w.Cancel(errEnough)
			w.Cancel(errEnough)
			if _, err := w.Start(Request{Name: "y", Kind: Barrier}); err == nil {
				t.Fatal("a call starts after the end")
			}
		}
	}
}

func TestOverSockets(t *testing.T) {
	for _, kind := range []string{"unix", "tcp"} {
		const n, count = 4, 1 << 20
		workers, members := newWorkers(t, n, sliceBytes, func(int) fabric.Clock { return fabric.System })
		overSockets(t, kind, members)
		before := edges(members)
		var calls []*Call
		var got [][]float32
		for rank, w := range workers {
			x := make([]float32, count)
			for i := range x {
				x[i] = float32(rank*i%1000) / 7
			}
			c, err := w.Start(Request{Name: "g", Kind: AllReduce, Op: Mean, Dst: Of(x), Algorithm: Ring})
			if err != nil {
				t.Fatal(err)
			}
			calls, got = append(calls, c), append(got, x)
		}
		for rank, c := range calls {
			if err := c.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if i := sameBits(got[0], got[rank]); i >= 0 {
				t.Fatalf("rank %d differs from rank 0 at %d", rank, i)
			}
			if x := float64(got[rank][1]); math.Abs(x-1.5/7) > 1e-6 {
				t.Fatal(x)
			}
		}
		checkEdges(t, before, edges(members), 4*count, n)
	}
}

// Calls of all kinds at once over real sockets, where callbacks come from many goroutines.
func TestMixedCallsOverSockets(t *testing.T) {
	const n = 4
	calls := 40
	if testing.Short() {
		calls = 12
	}
	workers, members := newWorkers(t, n, 16<<10, func(int) fabric.Clock { return fabric.System })
	overSockets(t, "unix", members)
	rng := rand.New(rand.NewPCG(1, 7))
	ops := make([]operation, calls)
	sources, weights := make([][]Buffer, calls), make([][]uint64, calls)
	for i := range ops {
		o := operation{kind: Kind(1 + rng.IntN(5)), op: Op(1 + rng.IntN(4)), typ: allTypes[rng.IntN(len(allTypes))], n: n,
			count: rng.IntN(30000), root: rng.IntN(n), inPlace: rng.IntN(2) == 0}
		for o.algorithm == Auto || !o.algorithm.Can(o.kind) {
			o.algorithm = Algorithm(1 + rng.IntN(int(Star)))
		}
		if o.typ.float() && rng.IntN(2) == 0 {
			o.op = WeightedMean
		}
		ops[i], sources[i], weights[i] = o, make([]Buffer, n), make([]uint64, n)
		for rank := range n {
			sources[i][rank], weights[i][rank] = fillBuffer(makeBuffer(o.typ, o.count), rng), uint64(rng.IntN(3))
		}
	}
	fail := make(chan error, n)
	for rank, w := range workers {
		order := rng.Perm(calls)
		go func() { fail <- runMixed(t, w, rank, order, ops, sources, weights) }()
	}
	for range n {
		if err := <-fail; err != nil {
			t.Error(err)
		}
	}
}

// runMixed is one member's part: it starts all calls in its own order, then checks each.
func runMixed(t *testing.T, w *worker, rank int, order []int, ops []operation, sources [][]Buffer, weights [][]uint64) error {
	started, results := make([]*Call, len(ops)), make([]Buffer, len(ops))
	for _, i := range order {
		r, dst := ops[i].request(rank, sources[i][rank], weights[i][rank])
		r.Name = fmt.Sprint("op", i)
		c, err := w.Start(r)
		if err != nil {
			return fmt.Errorf("%v: rank %d: %w", ops[i], rank, err)
		}
		started[i], results[i] = c, dst
	}
	for i, c := range started {
		if err := c.Wait(t.Context()); err != nil {
			return fmt.Errorf("%v: rank %d: %w", ops[i], rank, err)
		}
		want, err := ops[i].want(rank, c.Choice().Algorithm, sources[i], weights[i])
		if err != nil {
			return err
		}
		if !bytes.Equal(results[i].bytes, want.bytes) {
			return fmt.Errorf("%v: rank %d has another result than the serial reference", ops[i], rank)
		}
	}
	return nil
}

// A buffer is released when the frame that is being received into it has passed, or its connection has closed.
func TestReleaseWaitsForWhatIsBeingReceived(t *testing.T) {
	for _, closes := range []bool{false, true} {
		w := &wire{}
		var engines []*Engine
		for rank := range 2 {
			e, err := New(Config{Rank: rank, Size: 2, Send: w.sender(rank), Clock: stopped{}})
			if err != nil {
				t.Fatal(err)
			}
			engines = append(engines, e)
			w.to = append(w.to, e)
		}
		var calls []*Call
		for _, e := range engines {
			c, err := e.Start(Request{Name: "x", Kind: Broadcast, Root: 0, Dst: Of(make([]float32, 5000))})
			if err != nil {
				t.Fatal(err)
			}
			calls = append(calls, c)
		}
		var last wired // the data, on its way from the root
		for last.body == nil {
			last = *w.queue.at(0)
			w.queue.pop()
			if last.body == nil {
				if err := w.to[last.to].Frame(last.from, last.h, nil); err != nil {
					t.Fatal(err)
				}
				if last.done != nil {
					last.done(nil)
				}
			}
		}
		body, err := engines[1].Body(0, last.h)
		if err != nil || &body[0] != &calls[1].req.Dst.bytes[0] {
			t.Fatalf("not received in place: %v", err)
		}
		engines[1].Cancel(errEnough)
		select {
		case <-calls[1].Done():
		default:
			t.Fatal("cancelling is not at once")
		}
		select {
		case <-calls[1].Released():
			t.Fatal("released while a frame is being received")
		default:
		}
		if closes {
			engines[1].Closed(0)
		} else if err := engines[1].Frame(0, last.h, body); err != nil {
			t.Fatal(err)
		}
		select {
		case <-calls[1].Released():
		default:
			t.Fatal("not released")
		}
	}
}
