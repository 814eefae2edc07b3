package cpu

import (
	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
)

// space is where a store's bytes are.
type space uint8

const (
	inArena space = iota
	inParams
	inGrads
	inSlots
	inStates
	inConst
)

// store is the memory of one value, or of several that share it: reshapes of one another, and
// results that took an operand's place.
type store struct {
	space space
	off   int // in elements, for the flat vectors
	slot  int
	data  []float32 // of a const
	span  span      // in the arena
	pin   bool      // alive from the first op to the last: inputs and outputs
	host  *store    // whose memory this one took over, nil for none
}

// root is the store whose memory this one uses in the end.
func (st *store) root() *store {
	for st.host != nil {
		st = st.host
	}
	return st
}

// stores assigns a store to every value of the graph.
type stores struct {
	first map[*graph.Value]*store
	all   []*store
}

// of is the store of a value's memory, nil before it has one.
func (s *stores) of(v *graph.Value) *store {
	if st := s.first[v]; st != nil {
		return st.root()
	}
	return nil
}

func newStores(g *graph.Graph, l *engine.Layout) (*stores, error) {
	s := &stores{first: map[*graph.Value]*store{}}
	for _, v := range g.Params {
		p, _ := l.Param(v.Name)
		s.put(v, &store{space: inParams, off: p.Off})
	}
	for _, v := range g.Slots {
		p, _ := l.Param(v.SlotOf.Name)
		s.put(v, &store{space: inSlots, off: p.Off, slot: v.Slot})
	}
	for _, v := range g.States {
		p, _ := l.State(v.Name)
		s.put(v, &store{space: inStates, off: p.Off})
	}
	for _, n := range g.Nodes {
		for _, v := range n.Out {
			s.assign(n, v)
		}
	}
	for _, v := range g.Inputs {
		s.of(v).pin = true
	}
	for _, o := range g.Outputs {
		s.of(o.Value).pin = true
	}
	s.placeGrads(g, l)
	return s, nil
}

func (s *stores) put(v *graph.Value, st *store) {
	s.first[v] = st
	s.all = append(s.all, st)
}

func (s *stores) assign(n *graph.Node, v *graph.Value) {
	switch {
	case s.of(v) != nil:
	case n.Op == "reshape":
		s.first[v] = s.of(n.In[0])
	case n.Op == "const":
		s.put(v, &store{space: inConst, data: n.Attr.(graph.ConstAttr).Data})
	default:
		s.put(v, &store{span: span{size: v.Shape().Elems() * v.Spec.DType.Size(), first: -1}})
	}
}

// placeGrads moves gradients into the gradient vector where nothing stands against it; the
// others are copied there, see copiedGrads.
func (s *stores) placeGrads(g *graph.Graph, l *engine.Layout) {
	for _, d := range g.Grads {
		p, _ := l.Param(d.Param.Name)
		if st := s.of(d.Value); st.space == inArena && !st.pin && st.span.size == 4*p.Len() {
			st.space, st.off = inGrads, p.Off
		}
	}
}

// copiedGrads lists the gradients whose value stands elsewhere than in its place.
func (s *stores) copiedGrads(g *graph.Graph, l *engine.Layout) []graph.Grad {
	var out []graph.Grad
	for _, d := range g.Grads {
		p, _ := l.Param(d.Param.Name)
		if st := s.of(d.Value); st.space != inGrads || st.off != p.Off {
			out = append(out, d)
		}
	}
	return out
}

// live sets the span of every arena store from the ops that touch it, and lets a result take
// the place of an operand that dies with the op where the op allows it.
func (s *stores) live(ops []*op) {
	last := map[*store]int{}
	for i, o := range ops {
		for _, v := range o.touches() {
			last[s.of(v)] = i
		}
	}
	for i, o := range ops {
		for _, v := range o.results() {
			st := s.of(v)
			if st.space != inArena || st.span.first >= 0 {
				continue
			}
			if host := s.host(o, v, i, last); host != nil {
				st.host = host
				last[host] = max(last[host], last[st])
				continue
			}
			st.span.first = i
		}
	}
	for _, st := range s.all {
		st.span.last = last[st]
		if st.pin {
			st.span.first, st.span.last = 0, len(ops)
		}
	}
}

// host finds an operand of op i whose memory its first result may take over.
func (s *stores) host(o *op, v *graph.Value, i int, last map[*store]int) *store {
	if v.Index != 0 || s.of(v).pin {
		return nil
	}
	for _, k := range o.inPlace {
		h := s.of(o.node.In[k])
		if h.space == inArena && !h.pin && last[h] == i && h.span.size == s.of(v).span.size {
			return h
		}
	}
	return nil
}

// plan places the arena's stores and the ops' own work space, and returns the arena's size and
// its lower bound in bytes.
func (s *stores) plan(ops []*op) (arena, lower int) {
	var spans []*span
	for _, st := range s.all {
		if st.host == nil && st.space == inArena && st.span.first >= 0 {
			spans = append(spans, &st.span)
		}
	}
	for i, o := range ops {
		if o.shared > 0 {
			o.work = span{size: o.shared * 4, first: i, last: i}
			spans = append(spans, &o.work)
		}
	}
	return placeSpans(spans)
}
