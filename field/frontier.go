package field

// nodeAt is a node reached at some distance.
type nodeAt struct {
	at   float64
	node int32
}

func (a nodeAt) before(b nodeAt) bool { return a.at < b.at || a.at == b.at && a.node < b.node }

// frontier is the binary heap of a shortest-path search: nearest first, ties by number.
type frontier []nodeAt

func (f *frontier) push(x nodeAt) {
	h := append(*f, x)
	i := len(h) - 1
	for i > 0 && x.before(h[(i-1)/2]) {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = x
	*f = h
}

func (f *frontier) pop() nodeAt {
	h := *f
	top, x := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	*f = h
	i := 0
	for 2*i+1 < len(h) {
		c := 2*i + 1
		if c+1 < len(h) && h[c+1].before(h[c]) {
			c++
		}
		if !h[c].before(x) {
			break
		}
		h[i] = h[c]
		i = c
	}
	if len(h) > 0 {
		h[i] = x
	}
	return top
}
