package field

import (
	"context"
	"math/rand/v2"
	"slices"
)

// Baseline is a published or obvious way to plan, for comparison. All take the same input, visit each unconnected
// part (all but the static sink at the skeleton's stops), use the same tour optimiser and are measured alike; sensors within reach
// of a stop upload there directly in the Listen model.
type Baseline struct {
	Name string
	Plan func(ctx context.Context, in *Instance, opt Options) (*Plan, error)
}

// Baselines returns the planners that [Solve] is compared with.
func Baselines() []Baseline {
	list := []Baseline{}
	for _, b := range []struct {
		name string
		plan func(*rival) error
	}{
		{"static", (*rival).bestStatic},
		{"rp-cp", (*rival).constrainedPath},
		{"rp-ug", (*rival).utilityGreedy},
		{"cb", (*rival).clusterHeads},
		{"wrp", (*rival).weightedRendezvous},
		{"mst-walk", (*rival).mstWalk},
		{"random", (*rival).randomStops},
	} {
		list = append(list, Baseline{b.name, func(ctx context.Context, in *Instance, opt Options) (*Plan, error) {
			return runRival(ctx, in, opt, b.name, b.plan)
		}})
	}
	return list
}

// rival is the state of a baseline: its stops so far and, when it routes along a tree, that tree.
type rival struct {
	*solver
	ctx  context.Context
	rng  *rand.Rand
	at   []bool // nodes that are stops
	cur  route
	tree *forest // nil routes by fewest hops to any uploader
	// routed is how many nodes have a way to a stop of the skeleton.
	routed int
}

func runRival(ctx context.Context, in *Instance, opt Options, name string, plan func(*rival) error) (*Plan, error) {
	net, err := newNetwork(in)
	if err != nil {
		return nil, err
	}
	net.anchored = true
	s, err := newSolver(net, opt)
	if err != nil {
		return nil, err
	}
	r := &rival{solver: s, ctx: ctx, rng: opt.rng(forSeeds), at: make([]bool, net.len()), cur: s.base}
	for _, a := range s.base.anchors() {
		if a.node >= 0 {
			r.at[a.node] = true
		}
	}
	if len(r.cur.anchors()) > 0 {
		if err := plan(r); err != nil {
			return nil, err
		}
	}
	r.route()
	p := s.eval.finish(&r.cur)
	p.Method, p.Seed = name, opt.Seed
	if err := Check(in, p); err != nil {
		return nil, err
	}
	return p, nil
}

// route evaluates the current stops with the baseline's own routing.
func (r *rival) route() {
	sources := r.eval.h.hear(&r.cur)
	if r.tree != nil {
		r.eval.f.growAlong(r.tree, sources)
	} else {
		r.eval.f.growPlain(sources)
	}
	r.eval.timely(&r.cur)
}

// roots are the skeleton's nodes: where trees hang from.
func (r *rival) roots() []int32 {
	var roots []int32
	for _, a := range r.base.anchors() {
		roots = append(roots, a.keep[0])
	}
	slices.Sort(roots)
	return roots
}

// add makes node u a stop if the deadline allows.
func (r *rival) add(u int32) bool {
	a, ok := r.net.anchorFor(u)
	if !ok || r.at[u] {
		return false
	}
	next := r.net.deal(append(r.cur.anchors(), a), 0, r.rng)
	cheap := r.cur.clone()
	cheap.insert(a)
	if cheap.cost() < next.cost() {
		next = cheap
	}
	if !r.fit(&next) {
		for k := range next.tours {
			next.tours[k] = r.net.arrange(next.tours[k], false, kicksFor(len(next.tours[k]))/20, r.rng)
		}
		if !r.fit(&next) {
			return false
		}
	}
	r.cur, r.at[u] = next, true
	return true
}

// fit checks the deadline with the dwell divided evenly among tours.
func (r *rival) fit(x *route) bool {
	for _, t := range x.tours {
		if !r.net.fits(t, r.packets()/float64(len(x.tours))) {
			return false
		}
	}
	return true
}

// constrainedPath is RP-CP: the sink walks the heaviest edges of the routing tree, twice each, within the limit.
func (r *rival) constrainedPath() error {
	r.tree = newForest(r.net)
	r.tree.growPlain(r.roots())
	return r.walkCore(r.tree)
}

// mstWalk is the same walk on the minimum spanning tree.
func (r *rival) mstWalk() error {
	r.tree = newForest(r.net)
	r.tree.growMST(r.roots())
	return r.walkCore(r.tree)
}

// walkCore stops at the nodes of the largest core that a walk along the tree can visit.
func (r *rival) walkCore(tree *forest) error {
	order := slices.Clone(tree.order)
	slices.SortStableFunc(order, func(a, b int32) int {
		switch {
		case tree.packets[a] > tree.packets[b]:
			return -1
		case tree.packets[a] < tree.packets[b]:
			return 1
		}
		return 0
	})
	anchors, walk := r.base.anchors(), r.base.cost()
	limit := r.net.allowance(r.net.dwell(r.packets()))
	for _, u := range order {
		p := tree.parent[u]
		if p < 0 || r.at[u] {
			continue
		}
		a, ok := r.net.anchorFor(u)
		walk += 2*r.net.pos[u].Dist(r.net.pos[p]) + r.net.turnCost()
		if !ok || walk > limit {
			break
		}
		anchors = append(anchors, a)
		r.at[u] = true
	}
	next := r.net.deal(anchors, kicksFor(len(anchors))/20, r.rng)
	if r.fit(&next) {
		r.cur = next
	}
	return r.ctx.Err()
}

// utilityGreedy is RP-UG: again and again the node with the most transmissions saved per metre of detour becomes a stop.
func (r *rival) utilityGreedy() error {
	return r.greedy(20, func(u int32, saved float64) float64 { return saved / (r.detour(u) + 1e-3) })
}

// weightedRendezvous is WRP: the node with the largest product of hops to the tour and packets forwarded becomes a stop
// while the tour fits; stops that nothing is sent to are given up.
func (r *rival) weightedRendezvous() error {
	return r.greedy(50, func(_ int32, saved float64) float64 { return saved })
}

// greedy makes the node of most worth a stop, again and again, until that has failed the given number of times. What a stop
// at a node would save is the packets that it forwards times their hops to the tour.
func (r *rival) greedy(failures int, worth func(u int32, saved float64) float64) error {
	failed := make([]bool, r.net.len())
	for failures > 0 {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		r.route()
		best, most := int32(-1), 0.0
		for _, u := range r.eval.f.order {
			saved := r.eval.f.packets[u] * float64(r.eval.f.dist[u])
			if saved == 0 || r.at[u] || failed[u] {
				continue
			}
			if w := worth(u, saved); w > most {
				best, most = u, w
			}
		}
		if best < 0 {
			break
		}
		if !r.add(best) {
			failed[best] = true
			failures--
		}
	}
	return nil
}

// detour is by how much the tour grows when u is inserted at the best place.
func (r *rival) detour(u int32) float64 {
	_, _, least := r.cur.cheapest(&anchor{pos: r.net.pos[u], alt: r.net.alt[u], node: u})
	return max(least, 0) + r.net.turnCost()
}

// clusterHeads is CB: positions are divided into the most clusters (Lloyd's iteration) whose heads, the nodes nearest to
// their centres, can be toured in time.
func (r *rival) clusterHeads() error {
	low, high := 0, r.net.len()
	for low < high {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		mid := (low + high + 1) / 2
		if low == 0 && mid > 64 {
			mid = 64
		}
		anchors := r.base.anchors()
		for _, u := range r.net.hubs(mid, r.want, r.opt.rng(forSearch)) {
			if a, ok := r.net.anchorFor(u); ok && !(r.net.in.Upload == Buffer && slices.ContainsFunc(anchors, func(x anchor) bool { return x.node == u })) {
				anchors = append(anchors, a)
			}
		}
		next := r.net.deal(anchors, kicksFor(len(anchors))/20, r.rng)
		if r.fit(&next) {
			r.cur, low = next, mid
		} else {
			high = mid - 1
		}
	}
	return nil
}

// randomStops adds nodes at random while the tour fits.
func (r *rival) randomStops() error {
	misses := 0
	for _, u := range r.rng.Perm(r.net.len()) {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if !r.want[r.net.part[u]] {
			continue
		}
		if !r.add(int32(u)) {
			if misses++; misses == 20 {
				break
			}
		}
	}
	return nil
}
