package shm

import (
	"errors"
	"testing"
	"time"

	"millrace.dev/group/reduce"
)

// asleepFor waits until a member sleeps for the next mark of another one.
func (w *worker) asleepFor(t *testing.T, rank int) {
	t.Helper()
	team := w.get()
	own := team.boards[team.config.Rank]
	for start := time.Now(); !own.awaits(rank); time.Sleep(100 * time.Microsecond) {
		if time.Since(start) > ample {
			t.Fatalf("the member does not sleep for rank %d", rank)
		}
	}
}

// A member that has nothing to do sleeps for the one that is last, and is woken by it.
func TestSleepersWaitForTheLast(t *testing.T) {
	const blocks = 3
	all := newWorkers(t, 3, blocks*reduce.Chunk)
	mustAttach(t, 1, all)
	for step := range uint64(3) {
		var results []chan outcome
		for _, w := range all {
			results = append(results, w.begin(step, 1))
		}
		first, second, third := all[0], all[1].get(), all[2].get()
		second.Ready(0, 2*reduce.Chunk)
		third.Ready(0, reduce.Chunk)
		first.get().Ready(0, blocks*reduce.Chunk)
		first.asleepFor(t, 2)
		third.Ready(reduce.Chunk, blocks*reduce.Chunk)
		first.asleepFor(t, 1)
		second.Ready(2*reduce.Chunk, blocks*reduce.Chunk)
		for rank, result := range results {
			if got := <-result; got.err != nil {
				t.Fatalf("step %d, rank %d: %v", step, rank, got.err)
			}
		}
	}
}

func TestCancelEndsASleep(t *testing.T) {
	all := newWorkers(t, 2, 1000)
	mustAttach(t, 1, all)
	result := all[0].begin(1, 1)
	all[0].get().Ready(0, 1000)
	all[0].asleepFor(t, 1)
	lost := errors.New("a member is gone")
	all[0].get().Cancel(lost)
	if got := <-result; !errors.Is(got.err, lost) {
		t.Errorf("%+v", got)
	}
}

// missesRank1 says that something of rank 1 is missing.
func (w *worker) missesRank1(b board) int {
	if &b[0] == &w.get().boards[1][0] {
		return 1
	}
	return 0
}

// A sleep that begins when the team has just been canceled ends, too.
func TestCancelEndsASleepThatComesLate(t *testing.T) {
	all := newWorkers(t, 2, 1000)
	mustAttach(t, 1, all)
	team := all[0].get()
	team.summing.Lock() // keeps the team's goroutine from its end
	team.Cancel(errors.New("a member is gone"))
	time.Sleep(20 * time.Millisecond) // longer than the first waking takes
	team.sleep(all[0].missesRank1, func() bool { return false })
	team.summing.Unlock()
}

// Blocks that are ready everywhere before a member sleeps are summed first.
func TestNobodySleepsOnWhatIsPossible(t *testing.T) {
	all := newWorkers(t, 2, 1000)
	mustAttach(t, 1, all)
	all[0].get().sleep(all[0].missesRank1, func() bool { return true })
}
