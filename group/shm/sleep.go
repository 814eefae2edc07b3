package shm

import (
	"math"
	"time"
)

// forever is how long a sleep may take: a mark of another member, or Cancel, ends it.
const forever = time.Duration(math.MaxInt64)

// sleep waits while nothing is possible until the member of which most is missing has made another mark, and perhaps not so long.
// The others are ahead of that one: their marks would wake this member for nothing.
func (t *Team) sleep(missing func(board) int, possible func() bool) {
	most, last, seen := 0, 0, uint64(0)
	for rank, b := range t.boards {
		marks := b.marks().Load() // first: what is missing then comes with a later mark
		if m := missing(b); m > most {
			most, last, seen = m, rank, marks
		}
	}
	if most == 0 {
		return
	}
	own := t.boards[t.config.Rank]
	own.await(last)
	if !possible() {
		sleep(t.boards[last].marks(), seen, forever)
	}
	own.awake()
}

// marked counts what this member has marked on its board, and wakes those who sleep for that. Who is about to says so
// before it looks for the last time, and does not sleep if the count is another one than it saw.
func (t *Team) marked() {
	me := t.config.Rank
	count := t.boards[me].marks()
	count.Add(1)
	for _, b := range t.boards {
		if b.awaits(me) {
			wake(count)
			return
		}
	}
}

// rouse ends this member's sleep once the team is canceled. One that is about to begin may miss the first waking.
func (t *Team) rouse() {
	<-t.canceled
	for {
		for rank, b := range t.boards {
			if rank != t.config.Rank {
				wake(b.marks())
			}
		}
		select {
		case <-t.stopped:
			return
		case <-time.After(time.Millisecond):
		}
	}
}
