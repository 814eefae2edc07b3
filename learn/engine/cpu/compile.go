package cpu

import (
	"fmt"
	"slices"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/internal/gemm"
)

// op is a node, or a product with the update of its result, ready to be bound to memory.
type op struct {
	node    *graph.Node
	update  *graph.Node // the update that was fused into it, or nil
	kernel  string
	flops   int
	plan    *gemm.Plan // of a product
	fused   graph.Fused
	shared  int   // floats of work space for all workers together
	worker  int   // floats of work space for each worker
	inPlace []int // operands whose memory the first result may take over
	work    span  // of shared, in the arena
	late    bool  // belongs to the update stage
	bind    func(b *binding) bound
}

// bound is an op bound to a replica's memory.
type bound struct {
	phases []phase
	check  func() error // called after the phases; nil when nothing can go wrong
}

// phase is a list of chunks that may run in any order and at the same time.
type phase struct {
	chunks int
	run    func(worker, chunk int)
}

// touches lists every value that the op reads or writes.
func (o *op) touches() []*graph.Value {
	vs := append(append([]*graph.Value{}, o.node.In...), o.node.Out...)
	if o.update != nil {
		vs = append(vs, o.update.In...)
	}
	return vs
}

func (o *op) results() []*graph.Value { return o.node.Out }

// program implements engine.Program.
type program struct {
	layout  *engine.Layout
	graph   *graph.Graph
	split   bool
	pool    *pool
	ops     []*op
	stores  *stores
	buckets []engine.Range
	ready   [][]int // for each op the buckets that are complete after it
	arena   int
	floor   int
	worker  int // floats of work space of each thread
}

type compiler struct {
	uses map[*graph.Value]int
}

func compile(src *graph.Graph, opt engine.Options, pool *pool) (*program, error) {
	g, err := graph.Optimize(src)
	if err != nil {
		return nil, err
	}
	if !opt.SplitUpdate {
		if g, err = graph.ScheduleUpdates(g); err != nil {
			return nil, err
		}
	}
	layout := opt.Layout
	if layout == nil {
		if layout, err = engine.NewLayout(src); err != nil {
			return nil, err
		}
	}
	if err := layout.Fits(g); err != nil {
		return nil, err
	}
	p := &program{layout: layout, graph: g, split: opt.SplitUpdate, pool: pool}
	if p.stores, err = newStores(g, layout); err != nil {
		return nil, err
	}
	if err := p.lower(); err != nil {
		return nil, err
	}
	p.stores.live(p.ops)
	p.arena, p.floor = p.stores.plan(p.ops)
	p.bucketise(opt.BucketBytes)
	return p, nil
}

func (p *program) lower() error {
	c := &compiler{uses: p.graph.Uses()}
	nodes := p.graph.Nodes
	late := p.graph.UpdateStage()
	for i := 0; i < len(nodes); i++ {
		n := nodes[i]
		o, err := c.lower(n)
		if err != nil {
			return fmt.Errorf("cpu: %s: %s: %w", n.Path, n.Op, err)
		}
		if o == nil {
			continue
		}
		o.late = late[n.ID]
		if !p.split && i+1 < len(nodes) && c.fuseUpdate(o, nodes[i+1]) {
			i++
		}
		p.add(o)
	}
	if p.split { // the order in which the stages run, which the plan of memory relies on
		slices.SortStableFunc(p.ops, func(a, b *op) int {
			switch {
			case a.late == b.late:
				return 0
			case b.late:
				return -1
			}
			return 1
		})
	}
	return p.copyGrads(c)
}

func (p *program) add(o *op) {
	p.ops = append(p.ops, o)
	p.worker = max(p.worker, o.worker)
}

// copyGrads inserts copies for gradients that are not computed in their place, right after the
// op that makes them.
func (p *program) copyGrads(c *compiler) error {
	for _, d := range p.stores.copiedGrads(p.graph, p.layout) {
		at := 0
		for i, o := range p.ops {
			for _, v := range o.node.Out {
				if p.stores.of(v) == p.stores.of(d.Value) {
					at = i + 1
				}
			}
		}
		p.ops = append(p.ops[:at], append([]*op{copyGrad(d)}, p.ops[at:]...)...)
	}
	return nil
}

// bucketise cuts the gradient vector into buckets and finds the op that completes each.
func (p *program) bucketise(bytes int) {
	p.ready = make([][]int, len(p.ops))
	if len(p.graph.Grads) == 0 {
		return
	}
	doneAt := p.gradsDone()
	lo, at, end := 0, 0, -1
	flush := func(hi int) {
		end = max(end, at) // buckets complete from the front to the back
		p.ready[end] = append(p.ready[end], len(p.buckets))
		p.buckets = append(p.buckets, engine.Range{Lo: lo, Hi: hi})
		lo, at = hi, 0
	}
	for i, pl := range p.layout.Params {
		at = max(at, doneAt[pl.Name])
		hi := p.layout.ParamLen
		if i+1 < len(p.layout.Params) {
			hi = p.layout.Params[i+1].Off
		}
		if i+1 == len(p.layout.Params) || bytes > 0 && (hi-lo)*4 >= bytes {
			flush(hi)
		}
	}
}

// gradsDone finds, for each param, the last op that writes its gradient's place.
func (p *program) gradsDone() map[string]int {
	inPlace := map[*store][]string{}
	for _, d := range p.graph.Grads {
		st := p.stores.of(d.Value)
		inPlace[st] = append(inPlace[st], d.Param.Name)
	}
	done := map[string]int{}
	for i, o := range p.ops {
		if o.node.Op == copyGradOp {
			done[o.node.Attr.(string)] = i
			continue
		}
		for _, v := range o.node.Out {
			for _, name := range inPlace[p.stores.of(v)] {
				done[name] = i
			}
		}
	}
	return done
}

func (p *program) Layout() *engine.Layout { return p.layout }

func (p *program) Buckets() []engine.Range { return p.buckets }

func (p *program) Memory() engine.Memory {
	threads := len(p.pool.helpers) + 1
	return engine.Memory{Arena: p.arena, LowerBound: p.floor, Scratch: threads * p.worker * 4}
}

func (p *program) Ops() []engine.OpInfo {
	var out []engine.OpInfo
	for _, o := range p.ops {
		info := engine.OpInfo{Op: o.node.Op, Path: o.node.Path, Kernel: o.kernel, Flops: int64(o.flops)}
		if o.update != nil {
			info.Op += "+update"
		}
		for i, v := range o.node.Out {
			if i > 0 {
				info.Out += " "
			}
			info.Out += v.Spec.String()
		}
		out = append(out, info)
	}
	return out
}
