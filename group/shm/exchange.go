package shm

// Kind is what members do with their buffers, the parts of which are those of collective.Part.
type Kind uint8

// The kinds of exchanges.
const (
	AllReduce     Kind = iota + 1 // everybody gets the reduction of all sources
	ReduceScatter                 // everybody gets its part of it
	AllGather                     // everybody gives its part of the whole
	Broadcast                     // everybody gets the root's buffer
)

func (k Kind) reduces() bool { return k == AllReduce || k == ReduceScatter }

// Exchange is what members do with buffers. All but the buffers, Aside, Combine, Finish and Done is the same on all.
type Exchange struct {
	Kind  Kind
	Bytes int // of the whole
	Size  int // of an element: a power of two, 64 bytes at most
	Root  int // of a broadcast
	// Dst gets the result and Src has what this member gives: the whole, or this member's part. They may be the same memory where
	// their elements are, and are of a broadcast. They belong to the exchange until Done.
	Dst, Src []byte
	// Aside says that this member has no buffers: unless nothing was to be exchanged, all get an error, and can go on with
	// other exchanges.
	Aside bool
	// Combine sets r = a ∘ b for runs of whole elements in rank order: a is of lower ranks than b. r may be the same
	// memory as a or b.
	Combine func(r, a, b []byte)
	// Finish is done once to each run of a reduction's result, such as a division; nil for nothing.
	Finish func(r []byte)
	// Done is called once, by a goroutine of the Comm. After an error Dst holds nothing of use.
	Done func(error)
}

// part is a member's part of the whole.
func (x *Exchange) part(rank, n int) (lo, hi int) {
	count := x.Bytes / x.Size
	return count * rank / n * x.Size, count * (rank + 1) / n * x.Size
}

// longest is the size of the longest part.
func (x *Exchange) longest(n int) int { return (x.Bytes/x.Size + n - 1) / n * x.Size }

// src is bytes lo to hi of the whole in a member's source, dst likewise.
func (x *Exchange) src(lo, hi, rank, n int) []byte {
	if x.Kind == AllGather {
		from, _ := x.part(rank, n)
		lo, hi = lo-from, hi-from
	}
	return x.Src[lo:hi]
}

func (x *Exchange) dst(lo, hi, rank, n int) []byte {
	if x.Kind == ReduceScatter {
		from, _ := x.part(rank, n)
		lo, hi = lo-from, hi-from
	}
	return x.Dst[lo:hi]
}
