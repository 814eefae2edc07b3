package shm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
	"unsafe"
)

// mix is a row of exchanges of all kinds, which is the same for all who draw it by the same seed.
type mix struct {
	seed uint64
	n    int
	all  []mixed
}

type mixed struct {
	Exchange      // without buffers
	aside    int  // rank of who stands aside; n for nobody
	inPlace  bool // the result goes where the source is
	shift    int  // elements from an address that lies well
}

func drawMix(seed uint64, n, count int) mix {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	m := mix{seed, n, make([]mixed, count)}
	piece := pieceBytes(n)
	for i := range m.all {
		x := &m.all[i]
		x.Kind, x.Size, x.Root = AllReduce+Kind(r.IntN(int(Broadcast))), 1<<r.IntN(4), r.IntN(n)
		count := []int{0, 1, n - 1, n, 67, r.IntN(2000), piece/x.Size - 1, piece / x.Size, r.IntN((slots + 2) * piece / x.Size)}[r.IntN(9)]
		if x.Kind == AllGather {
			count *= n // all parts are equally long
		}
		x.Bytes, x.shift, x.inPlace, x.aside = count*x.Size, r.IntN(64), r.IntN(2) > 0, n
		if r.IntN(6) == 0 && x.Bytes > 0 {
			x.aside = r.IntN(n)
		}
	}
	return m
}

// whole is what a member has to give to an all-reduce; to others it gives a part of that.
func (m *mix) whole(i, rank int) []byte {
	r := rand.New(rand.NewPCG(m.seed+uint64(i), uint64(rank)))
	b := make([]byte, m.all[i].Bytes)
	const period = 1021 // a prime: what is in another place differs
	for at := range b[:min(len(b), period)] {
		b[at] = byte(r.Uint32())
	}
	for at := period; at < len(b); at *= 2 {
		copy(b[at:], b[:at])
	}
	return b
}

// fold is no sum: in another order, or with a member left out or taken twice, it gives something else.
func fold(size int) func(r, a, b []byte) {
	switch size {
	case 1:
		return folds[uint8]
	case 2:
		return folds[uint16]
	case 4:
		return folds[uint32]
	}
	return folds[uint64]
}

func folds[T uint8 | uint16 | uint32 | uint64](r, a, b []byte) {
	x, y, z := elements[T](r), elements[T](a), elements[T](b)
	for i := range x {
		x[i] = 3*y[i] + z[i] + 1
	}
}

func elements[T any](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(*new(T))))
}

// result is what a member must get.
func (m *mix) result(i, rank int) []byte {
	x := &m.all[i]
	lo, hi := x.part(rank, m.n)
	r := m.whole(i, 0)
	switch x.Kind {
	case Broadcast:
		return m.whole(i, x.Root)
	case AllGather:
		for rank := range m.n {
			lo, hi := x.part(rank, m.n)
			copy(r[lo:hi], m.whole(i, rank)[lo:hi])
		}
		return r
	}
	for rank := 1; rank < m.n; rank++ {
		fold(x.Size)(r, r, m.whole(i, rank))
	}
	if x.Kind == ReduceScatter {
		return r[lo:hi]
	}
	return r
}

// buffers gives a member's exchange its buffers.
func (m *mix) buffers(i, rank int) (x Exchange) {
	of := &m.all[i]
	x = of.Exchange
	if x.Aside = of.aside == rank; x.Aside {
		return x
	}
	src := append(make([]byte, of.shift*x.Size), m.whole(i, rank)...)[of.shift*x.Size:]
	lo, hi := x.part(rank, m.n)
	x.Src, x.Dst, x.Combine = src, src, fold(x.Size)
	switch x.Kind {
	case AllGather:
		x.Src = src[lo:hi]
	case ReduceScatter:
		x.Dst = src[lo:hi]
	}
	if !of.inPlace && x.Kind != Broadcast {
		x.Dst = make([]byte, len(x.Dst)+of.shift*x.Size)[of.shift*x.Size:]
	}
	if len(x.Dst) == 0 {
		x.Dst = nil // a slice of nothing may be nil
	}
	return x
}

// start starts a member's part of all exchanges, in an order of its own. The result is what has gone wrong, or why the
// Comm was canceled.
func (m *mix) start(c *Comm) <-chan error {
	rank := c.view.Rank
	c.mu.Lock()
	first := c.turn
	c.mu.Unlock()
	results, over := make(chan error, len(m.all)), make(chan error, 1)
	for _, i := range rand.New(rand.NewPCG(m.seed, uint64(rank))).Perm(len(m.all)) {
		x := m.buffers(i, rank)
		x.Done = func(err error) { results <- m.check(i, rank, x.Dst, err) }
		if err := c.Start(first+uint64(i), x); err != nil {
			results <- err
		}
	}
	go func() {
		var err error
		for range m.all {
			if failed := <-results; err == nil {
				err = failed
			}
		}
		over <- err
	}()
	return over
}

// check compares what has become of an exchange with what it should be.
func (m *mix) check(i, rank int, got []byte, err error) error {
	x := &m.all[i]
	var aside *AsideError
	switch {
	case x.aside < m.n && errors.As(err, &aside) && aside.Rank == x.aside:
		return nil
	case err != nil:
		return fmt.Errorf("exchange %d: %w", i, err)
	case x.aside < m.n:
		return fmt.Errorf("exchange %d ends well, though rank %d stood aside", i, x.aside)
	}
	if want := m.result(i, rank); !bytes.Equal(got, want) {
		return fmt.Errorf("exchange %d of kind %d of %d members, root %d, %d bytes in elements of %d, in place %t: differs from byte %d of %d on",
			i, x.Kind, m.n, x.Root, x.Bytes, x.Size, x.inPlace, common(got, want), len(want))
	}
	return nil
}

// common is how far two buffers are the same.
func common(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// Exchanges of all kinds follow each other, and members stand aside in some.
func TestMixedExchanges(t *testing.T) {
	rounds := 2
	if testing.Short() {
		rounds = 1
	}
	for _, n := range []int{2, 3, 5} {
		comms := newComms(t, newDoors(t, n))
		for round := range rounds {
			m := drawMix(uint64(100*n+round), n, 30)
			var wait sync.WaitGroup
			for rank, c := range comms {
				wait.Go(func() {
					if err := <-m.start(c); err != nil {
						t.Errorf("rank %d: %v", rank, err)
					}
				})
			}
			if wait.Wait(); t.Failed() {
				return
			}
		}
	}
}

// Processes that are stopped for a while, or killed, in the midst of exchanges: the others wait, or are canceled and go on
// among themselves.
func TestMixedExchangesOfProcesses(t *testing.T) {
	rounds := 4
	if testing.Short() {
		rounds = 1
	}
	r := rand.New(rand.NewPCG(21, 22))
	for round := range rounds {
		n := 3 + round%3
		members := startMembers(t, n, 1)
		all(t, members, order{Do: "comm", Epoch: 1, Members: numbers(members)})
		o := order{Do: "mix", Seed: r.Uint64(), Times: 60}
		all(t, members, o)
		time.Sleep(time.Duration(r.IntN(30)) * time.Millisecond)
		members[r.IntN(n)].stopFor(t, 50*time.Millisecond)
		o.Do = "mixed"
		all(t, members, o)

		o = order{Do: "mix", Seed: r.Uint64(), Times: 200}
		all(t, members, o)
		time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
		victim := r.IntN(n)
		members[victim].kill(t)
		survivors := append(append([]*member(nil), members[:victim]...), members[victim+1:]...)
		o.Do = "unmix"
		all(t, survivors, o)
		all(t, survivors, order{Do: "comm", Epoch: 2, Members: numbers(survivors)})
		o = order{Do: "mix", Seed: r.Uint64(), Times: 20}
		all(t, survivors, o)
		o.Do = "mixed"
		all(t, survivors, o)
		for _, m := range survivors {
			m.in.Close()
		}
	}
}

// Views that end in the midst of exchanges, or while their memory is being made, leave nothing behind.
func TestCommsLeaveNothingBehind(t *testing.T) {
	views := 50
	if testing.Short() {
		views = 20
	}
	doors := newDoors(t, 3)
	ids := []uint64{doors[0].id, doors[1].id, doors[2].id}
	r := rand.New(rand.NewPCG(31, 32))
	ended := errors.New("the view has ended")
	view := func(epoch int, late, joining bool) {
		m := drawMix(uint64(epoch), 3, 4)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if joining {
			defer time.AfterFunc(time.Duration(r.IntN(500))*time.Microsecond, cancel).Stop()
		}
		var wait sync.WaitGroup
		for rank, d := range doors {
			pause := time.Duration(r.IntN(3000)) * time.Microsecond
			wait.Go(func() {
				c, err := d.Join(ctx, View{Epoch: uint64(epoch), Rank: rank, IDs: ids})
				if err != nil {
					if !joining {
						t.Errorf("view %d, rank %d: %v", epoch, rank, err)
					}
					return
				}
				over := m.start(c)
				if !late {
					time.Sleep(pause)
					c.Cancel(ended)
				}
				if joining {
					c.Cancel(ended) // the others may have nothing
				}
				if err := <-over; err != nil && !errors.Is(err, ended) {
					t.Errorf("view %d, rank %d: %v", epoch, rank, err)
				}
				c.Close() //nolint:errcheck // always nil
			})
		}
		wait.Wait()
		for _, d := range doors { // what has come late the next view drops
			for busy := true; busy; time.Sleep(10 * time.Microsecond) {
				d.mu.Lock()
				busy = len(d.inside) > 0
				d.mu.Unlock()
			}
			d.forget(useComm, uint64(epoch))
		}
	}
	view(1, true, false)
	files, mappings := resources(t)
	for epoch := range views {
		view(2+epoch, r.IntN(4) == 0, r.IntN(4) == 0)
	}
	view(2+views, true, false)
	if filesNow, mappingsNow := resources(t); filesNow > files || mappingsNow > mappings {
		t.Errorf("%d files, %d mappings; before: %d, %d", filesNow, mappingsNow, files, mappings)
	}
}
