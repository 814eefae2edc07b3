package shm

import (
	"sync/atomic"
	"unsafe"
)

// board is what a member shows the others of its progress: words that it alone writes. A step has a tag, made of
// the epoch and the number of Begin in the view, which is the same on all members: words that were written in another view
// say nothing. Words of two steps stand side by side where a member that is one step ahead would overwrite what others
// still read.
type board []atomic.Uint64

// Places of words; those that change at different times lie on cache lines of their own.
const (
	boardAwaited = 0  // rank of the member whose next mark wakes this one, plus one; 0: it does not sleep
	boardWeight  = 8  // of the steps with even and odd tags
	boardStep    = 10 // likewise
	boardDone    = 16 // tag of the last step whose segments are all in the share, times two; plus one if not finite
	boardMarks   = 24 // how often this member has marked blocks ready or a step done; others sleep on that
	boardReady   = 32 // for each block the tag of the last step in which it is ready
)

// boardOf views the beginning of a share.
func boardOf(mem []byte, bytes int) board {
	return unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(unsafe.SliceData(mem))), bytes/8)
}

// firstTag is that of a view's first step.
func firstTag(epoch uint64) uint64 { return epoch<<32 + 1 }

// come says whether a word that a step of this tag leaves is of it, or of the next one, as no member is further ahead.
func come(word, tag uint64) bool { return word == tag || word == tag+1 }

func (b board) marks() *atomic.Uint64           { return &b[boardMarks] }
func (b board) await(rank int)                  { b[boardAwaited].Store(uint64(rank) + 1) }
func (b board) awake()                          { b[boardAwaited].Store(0) }
func (b board) awaits(rank int) bool            { return b[boardAwaited].Load() == uint64(rank)+1 }
func (b board) markReady(block int, tag uint64) { b[boardReady+block].Store(tag) }

// begin shows the weight and number of a step, before any block of it is ready.
func (b board) begin(tag, step, weight uint64) {
	b[boardWeight+tag&1].Store(weight)
	b[boardStep+tag&1].Store(step)
}

func (b board) weight(tag uint64) uint64 { return b[boardWeight+tag&1].Load() }
func (b board) step(tag uint64) uint64   { return b[boardStep+tag&1].Load() }

// ready reports whether a block of the step is complete.
func (b board) ready(block int, tag uint64) bool { return come(b[boardReady+block].Load(), tag) }

func (b board) markDone(tag uint64, finite bool) {
	v := tag << 1
	if !finite {
		v |= 1
	}
	b[boardDone].Store(v)
}

// done reports whether all of the member's segments are in its share, and whether they are finite.
func (b board) done(tag uint64) (done, finite bool) {
	v := b[boardDone].Load()
	return come(v>>1, tag), v&1 == 0
}
