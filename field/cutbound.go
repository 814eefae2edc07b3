package field

import (
	"cmp"
	"math"
	"slices"
)

// A cut: in a plan of maximal load B packets leave a set S of nodes over those on its inner boundary (with a link out of S), then over those on
// its outer boundary (with a link into S), which send packets of their own as well. When S holds more packets than either can
// send, some packet is uploaded inside S, so a tour must come within reach of S.
// Disjoint sets of that kind give a travelling-salesman problem whose legs are at least the sets' distances less two
// reaches; its Held-Karp bound is a lower bound on the tour. Where it exceeds the limit, no plan has maximal load B.
type cuts struct {
	net    *network
	weight []float64
	depth  []float32 // hops from the median: seeds are taken from far to near
	seeds  []int32
	owner  []int32 // set of each node in the current packing, -1
	stamp  []int32 // round in which a node was last reached
	layer  []int32 // hops from the seed in that round
	round  int32
	ball   []int32
	work   int // nodes that the current packing may still look at
}

const (
	maxSets  = 60      // sets in a packing
	maxSeeds = 300     // balls tried for one
	maxBall  = 200_000 // nodes of a ball
)

func newCuts(net *network, weight []float64, roots []int32) *cuts {
	c := &cuts{net: net, weight: weight, owner: make([]int32, net.len()), stamp: make([]int32, net.len()), layer: make([]int32, net.len())}
	f := newForest(net)
	for i := range f.parent {
		f.clear(int32(i))
	}
	f.explore(roots)
	c.depth = f.dist
	far := slices.Clone(f.order)
	slices.SortStableFunc(far, func(a, b int32) int { return cmp.Compare(c.depth[b], c.depth[a]) })
	for _, u := range far { // spread the seeds: not two within a hop of each other
		if len(c.seeds) == maxSeeds {
			break
		}
		if !slices.ContainsFunc(c.net.graph.Neighbors(int(u)), func(v int32) bool { return c.stamp[v] == -1 }) {
			c.seeds = append(c.seeds, u)
			c.stamp[u] = -1
		}
	}
	return c
}

// packing finds disjoint sets that must each be visited when no node may send more than b.
func (c *cuts) packing(b float64) [][]int32 {
	for i := range c.owner {
		c.owner[i] = -1
	}
	var sets [][]int32
	c.work = 3 * len(c.owner)
	for _, s := range c.seeds {
		if len(sets) == maxSets || c.work <= 0 {
			break
		}
		if c.owner[s] < 0 && c.grow(s, b) {
			for _, u := range c.ball {
				c.owner[u] = int32(len(sets))
			}
			sets = append(sets, slices.Clone(c.ball))
		}
	}
	return sets
}

// grow fills ball with the smallest ball in hops around s that must be visited; it fails when the ball would meet another set.
func (c *cuts) grow(s int32, b float64) bool {
	c.round++
	c.ball = append(c.ball[:0], s)
	c.stamp[s], c.layer[s] = c.round, 0
	packets, number := 0.0, int32(0)
	for from := 0; from < len(c.ball) && len(c.ball) <= maxBall; number++ {
		to := len(c.ball)
		c.work -= to - from
		for _, u := range c.ball[from:to] {
			packets += c.weight[u]
			for _, v := range c.net.graph.Neighbors(int(u)) {
				if c.stamp[v] == c.round {
					continue
				}
				if c.owner[v] >= 0 {
					return false
				}
				c.stamp[v], c.layer[v] = c.round, number+1
				c.ball = append(c.ball, v)
			}
		}
		if packets > c.exits(c.ball[from:to], c.ball[to:], b)*(1+1e-9) {
			c.ball = c.ball[:to]
			return true
		}
		from = to
	}
	return false
}

// exits is how many packets can leave the ball: over the nodes of its last layer that have a link to the next one, and over the
// next one, beside its own packets.
func (c *cuts) exits(last, next []int32, b float64) float64 {
	inner, outer := 0.0, 0.0
	for _, u := range last {
		if slices.ContainsFunc(c.net.graph.Neighbors(int(u)), func(v int32) bool { return c.stamp[v] == c.round && c.layer[v] > c.layer[u] }) {
			inner += b / c.net.scale[u]
		}
	}
	for _, v := range next {
		outer += max(b/c.net.scale[v]-c.weight[v], 0)
	}
	return min(inner, outer)
}

// distances are the least lengths of legs between sets, the depot last when there is one.
func (c *cuts) distances(sets [][]int32) [][]float64 {
	k := len(sets)
	if c.net.in.Depot != nil {
		k++
	}
	dist := make([][]float64, k)
	for i := range dist {
		dist[i] = make([]float64, k)
	}
	for i := range k {
		for j := range i {
			d := 0.0
			if i == len(sets) {
				d = c.gapTo(*c.net.in.Depot, sets[j]) - c.net.reach
			} else {
				d = c.gap(sets[i], sets[j]) - 2*c.net.reach
			}
			dist[i][j] = max(d, 0)
			dist[j][i] = dist[i][j]
		}
	}
	return dist
}

func (c *cuts) gapTo(p Point, set []int32) float64 {
	least := math.Inf(1)
	for _, u := range set {
		least = min(least, p.Dist(c.net.pos[u]))
	}
	return least
}

// gap is the distance between two sets, or of their bounding boxes when there are too many pairs.
func (c *cuts) gap(a, b []int32) float64 {
	if len(a)*len(b) <= 200_000 {
		least := math.Inf(1)
		for _, u := range a {
			least = min(least, c.gapTo(c.net.pos[u], b))
		}
		return least
	}
	p, q := c.box(a), c.box(b)
	dx := max(p.min.X-q.max.X, q.min.X-p.max.X, 0)
	dy := max(p.min.Y-q.max.Y, q.min.Y-p.max.Y, 0)
	return math.Hypot(dx, dy)
}

func (c *cuts) box(set []int32) box {
	pos := make([]Point, len(set))
	for i, u := range set {
		pos[i] = c.net.pos[u]
	}
	return boxOf(pos)
}

// excludes reports whether tours of the given length together cannot visit all sets of a packing for b.
func (c *cuts) excludes(b, length float64) bool {
	if c.net.in.Vehicles() > 1 && c.net.in.Depot == nil {
		return false // tours need not meet, so they make no single round
	}
	sets := c.packing(b)
	if len(sets) == 0 {
		return false
	}
	return heldKarp(c.distances(sets)) > max(length, 0)*(1+1e-9)+1e-6
}

// heldKarp is a lower bound on the cheapest round through all places of a symmetric cost table, which need not be a metric:
// the best 1-tree with node prices found by subgradient steps (Held and Karp, 1970).
func heldKarp(dist [][]float64) float64 {
	n := len(dist)
	switch n {
	case 0, 1:
		return 0
	case 2:
		return 2 * dist[0][1]
	}
	price, best := make([]float64, n), 0.0
	step := 0.0
	for iter := range 120 {
		sum, degree := oneTree(dist, price)
		for _, p := range price {
			sum -= 2 * p
		}
		best = max(best, sum)
		if iter == 0 {
			step = sum / float64(n) / 2
		}
		for i := range price {
			price[i] += step * float64(degree[i]-2)
		}
		step *= 0.96
	}
	return best * (1 - 1e-9)
}

// oneTree is the cheapest spanning tree on all places but the last, plus the two cheapest edges of the last.
func oneTree(dist [][]float64, price []float64) (sum float64, degree []int) {
	n := len(dist) - 1
	degree = make([]int, n+1)
	cost := func(i, j int) float64 { return dist[i][j] + price[i] + price[j] }
	near, via, done := make([]float64, n), make([]int, n), make([]bool, n)
	for i := 1; i < n; i++ {
		near[i] = cost(0, i)
	}
	done[0] = true
	for range n - 1 {
		next := -1
		for i := range n {
			if !done[i] && (next < 0 || near[i] < near[next]) {
				next = i
			}
		}
		done[next] = true
		sum += near[next]
		degree[next]++
		degree[via[next]]++
		for i := range n {
			if d := cost(next, i); !done[i] && d < near[i] {
				near[i], via[i] = d, next
			}
		}
	}
	first, second := -1, -1
	for i := range n {
		switch {
		case first < 0 || cost(n, i) < cost(n, first):
			first, second = i, first
		case second < 0 || cost(n, i) < cost(n, second):
			second = i
		}
	}
	degree[first]++
	degree[second]++
	degree[n] += 2
	return sum + cost(n, first) + cost(n, second), degree
}
