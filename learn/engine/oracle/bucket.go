package oracle

import (
	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
)

// bucket is a range of the gradient vector that is complete, with all before it, after node done.
type bucket struct {
	engine.Range
	done int
}

// planBuckets joins neighbouring gradients until they have the given size, 0 meaning no bound.
// They complete from the front to the back. A graph without gradients has none.
func planBuckets(l *engine.Layout, g *graph.Graph, bytes int) []bucket {
	if len(g.Grads) == 0 {
		return nil
	}
	made := map[string]int{}
	for _, d := range g.Grads {
		made[d.Param.Name] = d.Value.Node.ID
	}
	bs := []bucket{}
	open := false
	for _, p := range l.Params {
		if !open {
			bs = append(bs, bucket{engine.Range{Lo: p.Off, Hi: p.Off}, 0})
			open = true
		}
		b := &bs[len(bs)-1]
		b.Hi = p.Off + p.Len()
		b.done = max(b.done, made[p.Name])
		if bytes > 0 && 4*(b.Hi-b.Lo) >= bytes {
			open = false
		}
	}
	for i := range bs { // the padding behind a bucket belongs to it
		bs[i].Hi = l.ParamLen
		if i+1 < len(bs) {
			bs[i].Hi = bs[i+1].Lo
			bs[i+1].done = max(bs[i+1].done, bs[i].done)
		}
	}
	return bs
}
