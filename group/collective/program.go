package collective

// action is what a member does at a point of a lane.
type action uint8

const (
	send   action = iota + 1 // pass the lane's value on to the peer
	merge                    // combine it with that of the peer
	settle                   // combine it with that of the peer, which gives all of it, in the destination
	accept                   // take the peer's value into the destination, as it is
	result                   // make a value that is complete the result
	store                    // put the lane's value into the destination
)

// instr is one action on the elements [lo, hi).
type instr struct {
	do     action
	peer   int
	lo, hi int
	nth    int // of the lane's frames from, or to, this peer: frames may overtake each other
}

// program is a member's part in an operation: lanes that are independent of each other and the same, in number and
// order, on all members. The actions of a lane follow one another.
type program struct {
	lanes [][]instr
}

// sliceBytes is the most that a frame carries.
const sliceBytes = 256 << 10

// task is what a program depends on.
type task struct {
	kind      Kind
	algorithm Algorithm
	size      int // bytes of an element
	slice     int // most bytes of a frame
	count     int // elements of the whole: for all-gather those of one member
	n, rank   int
	root      int
}

// compile makes the program of a task.
func compile(t task) *program {
	p := &program{}
	if t.algorithm == Shared {
		p.lanes = [][]instr{t.announce()}
		return p
	}
	switch t.kind {
	case AllReduce, Barrier:
		if t.algorithm == Ring {
			for j := range t.n {
				lo, hi := Part(t.count, t.n, j)
				p.cut(t, lo, hi, false, func(lo, hi int) []instr { return t.ringReduce(j, lo, hi, true) })
			}
			break
		}
		p.cut(t, 0, t.count, true, func(lo, hi int) []instr {
			switch t.algorithm {
			case HalvingDoubling:
				return t.halving(lo, hi)
			case Tree:
				return t.treeReduce(lo, hi)
			}
			return t.starReduce(lo, hi)
		})
	case ReduceScatter:
		for j := range t.n {
			lo, hi := Part(t.count, t.n, j)
			p.cut(t, lo, hi, true, func(lo, hi int) []instr {
				if t.algorithm == Ring {
					return t.ringReduce(j, lo, hi, false)
				}
				return t.starScatter(j, lo, hi)
			})
		}
	case AllGather:
		for j := range t.n {
			p.cut(t, j*t.count, (j+1)*t.count, true, func(lo, hi int) []instr {
				if t.algorithm == Ring {
					return t.ringGather(j, lo, hi)
				}
				return t.starGather(j, lo, hi)
			})
		}
	case Broadcast:
		p.cut(t, 0, t.count, true, t.broadcast)
	}
	return p
}

// cut adds lanes for the slices of [lo, hi); if empty, one lane even if there are no elements.
func (p *program) cut(t task, lo, hi int, empty bool, lane func(lo, hi int) []instr) {
	if lo == hi && !empty {
		return
	}
	most := t.slice / t.size
	slices := max(1, (hi-lo+most-1)/most)
	for s := range slices {
		a, b := Part(hi-lo, slices, s)
		p.lanes = append(p.lanes, numbered(lane(lo+a, lo+b)))
	}
}

// numbered counts the frames that each peer sends in a lane, and is sent.
func numbered(l []instr) []instr {
	for i := range l {
		for _, before := range l[:i] {
			if before.peer == l[i].peer && (before.do == send) == (l[i].do == send) && before.exchanges() {
				l[i].nth++
			}
		}
	}
	return l
}

func (in *instr) receives() bool  { return in.do == merge || in.do == settle || in.do == accept }
func (in *instr) exchanges() bool { return in.do == send || in.receives() }

func (t task) left() int  { return (t.rank + t.n - 1) % t.n }
func (t task) right() int { return (t.rank + 1) % t.n }

// ringReduce is the way of segment j around the ring: from member j+1 to member j, which ends with the
// result, and, if it goes on, once more to member j-1.
func (t task) ringReduce(j, lo, hi int, on bool) (l []instr) {
	owner, first := t.rank == j, t.rank == (j+1)%t.n
	if !first {
		do := merge
		if owner {
			do = settle
		}
		l = append(l, instr{do: do, peer: t.left(), lo: lo, hi: hi})
	}
	if owner {
		l = append(l, instr{do: result, lo: lo, hi: hi})
	} else {
		l = append(l, instr{do: send, peer: t.right(), lo: lo, hi: hi})
	}
	if !on || t.n == 1 {
		return l
	}
	if !owner {
		l = append(l, instr{do: accept, peer: t.left(), lo: lo, hi: hi})
	}
	if t.right() != j {
		l = append(l, instr{do: send, peer: t.right(), lo: lo, hi: hi})
	}
	return l
}

// halving is recursive halving and doubling among the first p members, a power of two.
func (t task) halving(lo, hi int) (l []instr) {
	p := powerBelow(t.n)
	if t.rank >= p {
		return []instr{{do: send, peer: t.rank - p, lo: lo, hi: hi}, {do: accept, peer: t.rank - p, lo: lo, hi: hi}}
	}
	if t.rank+p < t.n {
		l = append(l, instr{do: settle, peer: t.rank + p, lo: lo, hi: hi})
	}
	type half struct{ lo, hi, otherLo, otherHi int }
	var halves []half
	a, b := lo, hi
	for d := p / 2; d > 0; d /= 2 {
		h, mid := half{}, a+(b-a)/2
		if t.rank&d == 0 {
			h = half{a, mid, mid, b}
		} else {
			h = half{mid, b, a, mid}
		}
		a, b = h.lo, h.hi
		halves = append(halves, h)
		l = append(l, instr{do: send, peer: t.rank ^ d, lo: h.otherLo, hi: h.otherHi},
			instr{do: settle, peer: t.rank ^ d, lo: h.lo, hi: h.hi})
	}
	l = append(l, instr{do: result, lo: a, hi: b})
	for k, d := len(halves)-1, 1; k >= 0; k, d = k-1, 2*d {
		h := halves[k]
		l = append(l, instr{do: send, peer: t.rank ^ d, lo: h.lo, hi: h.hi},
			instr{do: accept, peer: t.rank ^ d, lo: h.otherLo, hi: h.otherHi})
	}
	if t.rank+p < t.n {
		l = append(l, instr{do: send, peer: t.rank + p, lo: lo, hi: hi})
	}
	return l
}

// children are the members below one in a binary tree.
func children(rank, n int) (c []int) {
	for k := 2*rank + 1; k <= 2*rank+2 && k < n; k++ {
		c = append(c, k)
	}
	return c
}

func (t task) treeReduce(lo, hi int) (l []instr) {
	below := children(t.rank, t.n)
	for _, c := range below {
		l = append(l, instr{do: settle, peer: c, lo: lo, hi: hi})
	}
	if t.rank > 0 {
		up := (t.rank - 1) / 2
		l = append(l, instr{do: send, peer: up, lo: lo, hi: hi}, instr{do: accept, peer: up, lo: lo, hi: hi})
	} else {
		l = append(l, instr{do: result, lo: lo, hi: hi})
	}
	for _, c := range below {
		l = append(l, instr{do: send, peer: c, lo: lo, hi: hi})
	}
	return l
}

func (t task) starReduce(lo, hi int) (l []instr) {
	if t.rank > 0 {
		return []instr{{do: send, peer: 0, lo: lo, hi: hi}, {do: accept, peer: 0, lo: lo, hi: hi}}
	}
	for k := 1; k < t.n; k++ {
		l = append(l, instr{do: settle, peer: k, lo: lo, hi: hi})
	}
	l = append(l, instr{do: result, lo: lo, hi: hi})
	for k := 1; k < t.n; k++ {
		l = append(l, instr{do: send, peer: k, lo: lo, hi: hi})
	}
	return l
}

// announce tells member 0 that a call has started; what follows is not the lanes' affair.
func (t task) announce() (l []instr) {
	if t.rank > 0 {
		return []instr{{do: send, peer: 0}}
	}
	for k := 1; k < t.n; k++ {
		l = append(l, instr{do: accept, peer: k})
	}
	return l
}

// starScatter reduces a slice of part j at member 0, which hands it to member j.
func (t task) starScatter(j, lo, hi int) (l []instr) {
	if t.rank > 0 {
		l = append(l, instr{do: send, peer: 0, lo: lo, hi: hi})
		if t.rank == j {
			l = append(l, instr{do: accept, peer: 0, lo: lo, hi: hi})
		}
		return l
	}
	for k := 1; k < t.n; k++ {
		l = append(l, instr{do: merge, peer: k, lo: lo, hi: hi})
	}
	l = append(l, instr{do: result, lo: lo, hi: hi})
	if j > 0 {
		return append(l, instr{do: send, peer: j, lo: lo, hi: hi})
	}
	return append(l, instr{do: store, lo: lo, hi: hi})
}

func (t task) ringGather(j, lo, hi int) (l []instr) {
	if t.rank == j {
		l = append(l, instr{do: store, lo: lo, hi: hi})
	} else {
		l = append(l, instr{do: accept, peer: t.left(), lo: lo, hi: hi})
	}
	if t.right() != j {
		l = append(l, instr{do: send, peer: t.right(), lo: lo, hi: hi})
	}
	return l
}

func (t task) starGather(j, lo, hi int) (l []instr) {
	switch {
	case t.rank == j:
		l = append(l, instr{do: store, lo: lo, hi: hi})
		if t.rank > 0 {
			return append(l, instr{do: send, peer: 0, lo: lo, hi: hi})
		}
	case t.rank > 0:
		return []instr{{do: accept, peer: 0, lo: lo, hi: hi}}
	default:
		l = append(l, instr{do: accept, peer: j, lo: lo, hi: hi})
	}
	for k := 1; k < t.n; k++ {
		if k != j {
			l = append(l, instr{do: send, peer: k, lo: lo, hi: hi})
		}
	}
	return l
}

// broadcast first asks for the slice, from the leaves up to the root, so that nobody is sent what it does not expect
// and nobody gets it before all are known to expect the same.
func (t task) broadcast(lo, hi int) (l []instr) {
	at := (t.rank - t.root + t.n) % t.n // place in a tree whose root is 0
	var below []int
	up := 0
	switch t.algorithm {
	case Ring:
		if at+1 < t.n {
			below = []int{at + 1}
		}
		up = at - 1
	case Tree:
		below = children(at, t.n)
		up = (at - 1) / 2
	default:
		for k := 1; k < t.n && at == 0; k++ {
			below = append(below, k)
		}
	}
	member := func(at int) int { return (at + t.root) % t.n }
	for _, c := range below {
		l = append(l, instr{do: accept, peer: member(c), lo: lo, hi: lo})
	}
	if at > 0 {
		l = append(l, instr{do: send, peer: member(up), lo: lo, hi: lo}, instr{do: accept, peer: member(up), lo: lo, hi: hi})
	} else {
		l = append(l, instr{do: store, lo: lo, hi: hi})
	}
	for _, c := range below {
		l = append(l, instr{do: send, peer: member(c), lo: lo, hi: hi})
	}
	return l
}
