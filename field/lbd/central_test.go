package lbd

import (
	"slices"

	"millrace.dev/field"
)

// central is what a planner that sees everything does with the same means: the weighted median of the graph as root,
// hop layers from it, parents chosen deepest layer first and heaviest node first by least load, improved by moving subtrees
// as long as the sorted load vector falls; then the smallest threshold that leaves at most budget stops beside the root.
type central struct {
	g      *field.Graph
	weight []float64
	layer  []int
	parent []int
	load   []float64
	root   int
}

func newCentral(in *field.Instance, fixed int) *central {
	g, err := field.NewGraph(in)
	if err != nil {
		panic(err)
	}
	n := len(in.Sensors)
	c := &central{g: g, weight: make([]float64, n), parent: make([]int, n), load: make([]float64, n), root: fixed}
	for i, s := range in.Sensors {
		c.weight[i] = s.Weight
	}
	if fixed < 0 {
		c.root = c.median()
	}
	c.layer = c.hops(c.root)
	c.grow()
	for pass := 0; pass < 50 && c.improve(); pass++ {
	}
	return c
}

func (c *central) hops(from int) []int {
	hops := make([]int, c.g.Len())
	for i := range hops {
		hops[i] = -1
	}
	hops[from] = 0
	for front := []int{from}; len(front) > 0; front = front[1:] {
		for _, v := range c.g.Neighbors(front[0]) {
			if hops[v] < 0 {
				hops[v] = hops[front[0]] + 1
				front = append(front, int(v))
			}
		}
	}
	return hops
}

func (c *central) median() int {
	best, bestSum := -1, 0.0
	for u := range c.weight {
		sum := 0.0
		for v, h := range c.hops(u) {
			if h < 0 {
				h = 1e6
			}
			sum += float64(h) * c.weight[v]
		}
		if best < 0 || sum < bestSum {
			best, bestSum = u, sum
		}
	}
	return best
}

func (c *central) grow() {
	deepest := slices.Max(c.layer)
	copy(c.load, c.weight)
	for l := deepest; l > 0; l-- {
		var nodes []int
		for u, layer := range c.layer {
			if layer == l {
				nodes = append(nodes, u)
			}
		}
		slices.SortStableFunc(nodes, func(a, b int) int { return int(c.load[b] - c.load[a]) })
		for _, u := range nodes {
			best := -1
			for _, v := range c.g.Neighbors(u) {
				if c.layer[v] == l-1 && (best < 0 || c.load[v] < c.load[best]) {
					best = int(v)
				}
			}
			c.parent[u] = best
			c.load[best] += c.load[u]
		}
	}
	c.parent[c.root] = -1
}

// improve moves each subtree to another parent one layer up if the larger of the loads that change falls.
func (c *central) improve() (any bool) {
	for u := range c.parent {
		if c.layer[u] <= 0 {
			continue
		}
		for _, v := range c.g.Neighbors(u) {
			if c.layer[v] == c.layer[u]-1 && int(v) != c.parent[u] && c.better(u, int(v)) {
				c.shift(c.parent[u], -c.load[u])
				c.parent[u] = int(v)
				c.shift(int(v), c.load[u])
				any = true
			}
		}
	}
	return any
}

// better compares the ways from the old and the new parent up to where they meet.
func (c *central) better(u, to int) bool {
	a, b := c.parent[u], to
	before, after := 0.0, 0.0
	for a != b {
		if a < 0 || b < 0 {
			break
		}
		before = max(before, c.load[a], c.load[b])
		after = max(after, c.load[a]-c.load[u], c.load[b]+c.load[u])
		a, b = c.parent[a], c.parent[b]
	}
	return after < before
}

func (c *central) shift(u int, by float64) {
	for ; u >= 0; u = c.parent[u] {
		c.load[u] += by
	}
}

// maxLoad is the largest load outside the core of at most budget stops beside the root.
func (c *central) maxLoad(budget int) float64 {
	loads := slices.Clone(c.load)
	loads = slices.Delete(loads, c.root, c.root+1)
	slices.Sort(loads)
	slices.Reverse(loads)
	most := slices.Max(c.weight)
	if budget < len(loads) {
		// loads equal to that of the first one left out have to stay out as well
		most = max(most, loads[budget])
	}
	return most
}
