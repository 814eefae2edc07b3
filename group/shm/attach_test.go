package shm

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"
)

func TestDifferentVectorsAreNamed(t *testing.T) {
	all := []*worker{newWorker(t, 1000), newWorker(t, 1000), newWorker(t, 1001)}
	for rank, err := range attach(t.Context(), 1, all, nil) {
		var mismatch *MismatchError
		if err == nil || rank == 0 && (!errors.As(err, &mismatch) || mismatch.Rank != 2) {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
	all = newWorkers(t, 2, 1000)
	for rank, err := range attach(t.Context(), 1, all, func(rank int, c *Config) { c.Plan = uint64(rank) }) {
		var mismatch *MismatchError
		if !errors.As(err, &mismatch) || mismatch.Rank != 1-rank {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// When one member cannot see the others' memory, none of them gets a team.
func TestAllFailWhenOneCannot(t *testing.T) {
	all := newWorkers(t, 3, 1000)
	all[2].door.patience = 20 * time.Millisecond // rank 1 does not know where rank 2 is, and can tell it nothing
	for rank, err := range attach(t.Context(), 1, all, func(rank int, c *Config) {
		if rank == 1 {
			c.IDs = append([]uint64(nil), c.IDs...)
			c.IDs[2] = 12345 // nobody listens there
		}
	}) {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
	all[2].door.patience = ample
	mustAttach(t, 2, all) // the next view can
}

// A member that has nothing to show says so, and the others do not wait for it.
func TestRefusalIsHeard(t *testing.T) {
	all := newWorkers(t, 3, 1000)
	shut := &Vector{fd: -1, g: make([]float32, 1000)}
	for rank, err := range attach(t.Context(), 1, all, func(rank int, c *Config) {
		if rank == 1 {
			c.Vector = shut
		}
	}) {
		if !errors.Is(err, errors.ErrUnsupported) || rank != 1 && !errors.Is(err, errRefused) {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

func TestAttachEndsWithItsContext(t *testing.T) {
	all := newWorkers(t, 2, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err := all[0].door.Attach(ctx, Config{
		View: View{Epoch: 1, IDs: []uint64{all[0].id, all[1].id}}, Vector: all[0].vector, Mean: all[0].mean,
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestViewChangesLeaveNothingBehind(t *testing.T) {
	cycles := uint64(67)
	if testing.Short() {
		cycles = 5
	}
	all := newWorkers(t, 4, 3000)
	turn := func(epoch uint64) {
		view := all[:2+epoch%3]
		mustAttach(t, epoch, view)
		results := make([]chan outcome, len(view))
		for rank, w := range view {
			results[rank] = w.begin(epoch, 1)
			if epoch%5 != 0 || rank > 0 { // sometimes a step is cut off
				w.get().Ready(0, 3000)
			}
		}
		for rank, w := range view {
			if epoch%5 == 0 {
				w.get().Cancel(ErrClosed)
			}
			if got := <-results[rank]; (got.err == nil) != (epoch%5 != 0) {
				t.Fatalf("epoch %d, rank %d: %+v", epoch, rank, got)
			}
		}
		for _, w := range all {
			if team := w.get(); team != nil {
				team.Close() //nolint:errcheck // always nil
			}
		}
	}
	// Every 15 views the same members do the same things.
	last := uint64(17)
	measure := func(from uint64) (files, mappings int) {
		for epoch := from; epoch <= last; epoch++ {
			turn(epoch)
		}
		settle(all)
		return resources(t)
	}
	files, mappings := measure(0)
	last += 15 * cycles
	filesNow, mappingsNow := measure(18)
	if filesNow > files || mappingsNow > mappings {
		t.Errorf("after %d views: %d files, %d mappings; before: %d, %d", last, filesNow, mappingsNow, files, mappings)
	}
}

// settle waits until nothing goes on at doors any more, and frees what waits for that.
func settle(all []*worker) {
	for _, w := range all {
		w.door.stock.filling.Wait()
		w.door.stock.sweep(0)
		for busy := true; busy; time.Sleep(time.Millisecond) {
			w.door.mu.Lock()
			busy = len(w.door.inside) > 0
			w.door.mu.Unlock()
		}
	}
}

func resources(tb testing.TB) (files, mappings int) {
	tb.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		tb.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		tb.Fatal(err)
	}
	mappings = bytes.Count(maps, []byte("/memfd:millrace"))
	return len(list), mappings
}

// Attaches that are cut off at any moment, on one member or all, leave no file behind.
func TestAttachesCutOffLeaveNothingBehind(t *testing.T) {
	rounds := uint64(300)
	if testing.Short() {
		rounds = 50
	}
	r := rand.New(rand.NewPCG(13, 14))
	all := newWorkers(t, 3, 3000)
	patience := func(d time.Duration) {
		for _, w := range all {
			w.door.patience = d
		}
	}
	whole := func(epoch uint64) {
		patience(ample)
		mustAttach(t, epoch, all)
		for _, w := range all {
			w.get().Close() //nolint:errcheck // always nil
		}
		settle(all)
		for _, w := range all {
			w.door.forget(useTeam, epoch) // as the next view does with what has come late
		}
	}
	whole(0)
	files, mappings := resources(t)
	patience(50 * time.Millisecond)
	for epoch := uint64(1); epoch < rounds; epoch++ {
		var wait sync.WaitGroup
		ids := []uint64{all[0].id, all[1].id, all[2].id}
		for rank, w := range all {
			ctx, cancel := context.WithCancel(t.Context())
			after, late := time.Duration(r.IntN(400))*time.Microsecond, time.Duration(r.IntN(200))*time.Microsecond
			spared := r.IntN(3) == 0
			wait.Go(func() {
				time.Sleep(late)
				if spared {
					cancel = func() {}
				}
				timer := time.AfterFunc(after, cancel)
				defer timer.Stop()
				team, err := w.door.Attach(ctx, Config{
					View:   View{Epoch: epoch, Rank: rank, IDs: ids},
					Vector: w.vector, Mean: w.mean,
				})
				if err == nil {
					team.Close() //nolint:errcheck // always nil
				}
			})
		}
		wait.Wait()
	}
	whole(rounds)
	if filesNow, mappingsNow := resources(t); filesNow > files || mappingsNow > mappings {
		t.Errorf("%d files, %d mappings; before: %d, %d", filesNow, mappingsNow, files, mappings)
	}
}
