package cpu

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestPoolRunsEachChunkOnce drives phases of all sizes through pools of all sizes.
func TestPoolRunsEachChunkOnce(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, threads := range []int{1, 2, 3, 8} {
		p := newPool(threads)
		for n := 1; n < 70; n++ {
			var ran [70]atomic.Int32
			work := func(worker, chunk int) {
				if worker < 0 || worker >= threads {
					t.Errorf("worker %d of %d", worker, threads)
				}
				ran[chunk].Add(1)
			}
			if p.acquire() {
				p.do(n, work)
				p.release()
			} else {
				for c := range n {
					work(0, c)
				}
			}
			for c := range ran {
				if want := int32(btoi(c < n)); ran[c].Load() != want {
					t.Fatalf("%d threads, %d chunks: chunk %d ran %d times", threads, n, c, ran[c].Load())
				}
			}
		}
		p.close()
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestPoolWakesSleepers leaves gaps between phases that are longer than the helpers spin.
func TestPoolWakesSleepers(t *testing.T) {
	p := newPool(3)
	defer p.close()
	for i := range 200 {
		var sum atomic.Int64
		if !p.acquire() {
			t.Fatal("the pool is held by nobody")
		}
		p.do(5, func(_, chunk int) {
			if i%2 == 0 {
				time.Sleep(30 * time.Microsecond) // the caller goes to sleep too
			}
			sum.Add(int64(chunk))
		})
		p.release()
		if sum.Load() != 10 {
			t.Fatalf("round %d: sum %d", i, sum.Load())
		}
		if i%10 == 0 {
			time.Sleep(200 * time.Microsecond)
		}
	}
}

// TestPoolIsShared has several callers: one at a time gets the helpers, the others do without.
func TestPoolIsShared(t *testing.T) {
	p := newPool(4)
	defer p.close()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 300 {
				var n atomic.Int64
				count := func(_, _ int) { n.Add(1) }
				if p.acquire() {
					p.do(9, count)
					p.release()
				} else {
					for c := range 9 {
						count(0, c)
					}
				}
				if n.Load() != 9 {
					t.Errorf("ran %d chunks", n.Load())
				}
				runtime.Gosched()
			}
		})
	}
	all.Wait()
}

// TestPoolLimit changes the number of threads between phases.
func TestPoolLimit(t *testing.T) {
	p := newPool(4)
	defer p.close()
	for i := range 100 {
		limit := 1 + i%4
		p.limit.Store(int32(limit))
		var high atomic.Int64
		if p.acquire() {
			p.do(20, func(worker, _ int) {
				for {
					h := high.Load()
					if int64(worker) <= h || high.CompareAndSwap(h, int64(worker)) {
						return
					}
				}
			})
			p.release()
		}
		if high.Load() >= int64(limit) {
			t.Fatalf("worker %d worked under a limit of %d threads", high.Load(), limit)
		}
	}
}
