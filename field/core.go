package field

import (
	"math"
	"slices"
)

// coreKeys gives each node the largest cost in its subtree. For a maximal load B the core of a reference
// tree is {u: key(u) > B}: as long as no stop lies in the subtree of u, some node there sends more than B.
// The core is closed towards the root.
func coreKeys(f *forest) []float64 {
	key := make([]float64, len(f.parent))
	for k := len(f.order) - 1; k >= 0; k-- {
		u := f.order[k]
		key[u] = max(key[u], f.cost(u))
		if p := f.parent[u]; p >= 0 {
			key[p] = max(key[p], key[u])
		}
	}
	return key
}

// ownFloor is the least possible maximal load: every node sends its own packets.
func ownFloor(net *network) float64 {
	most := 0.0
	for u, w := range net.weight {
		most = max(most, w*net.scale[u])
	}
	return most
}

// smallestCore is the smallest B, not below floor, whose core can be walked along the tree within limit metres: the
// walk takes the edge above every core node twice. keys and edges (metres to the parent, 0 for a root)
// belong to the nodes of one tree or forest. For a tree whose sink moves along its edges, with stops that hear
// their tree neighbours, it is the optimum: a node u with key above B and no stop in its subtree
// has a node below it that sends more than B, so each solution has a stop in every such subtree
// and its walk must take the edge above u twice.
func smallestCore(keys, edges []float64, floor, limit float64) float64 {
	byKey := make([]int32, len(keys))
	for i := range byKey {
		byKey[i] = int32(i)
	}
	slices.SortFunc(byKey, func(a, b int32) int {
		switch {
		case keys[a] > keys[b]:
			return -1
		case keys[a] < keys[b]:
			return 1
		}
		return int(a - b)
	})
	walk, k := 0.0, 0
	best := math.Inf(1)
	for k < len(byKey) {
		level := max(keys[byKey[k]], floor) // the core at this B holds the nodes before k
		if walk > limit {
			break
		}
		best = level
		for k < len(byKey) && keys[byKey[k]] >= level {
			walk += 2 * edges[byKey[k]]
			k++
		}
		if level == floor {
			return best
		}
	}
	if k == len(byKey) && walk <= limit {
		best = min(best, floor)
	}
	return best
}

// coreNodes lists the nodes with key above b, deepest first.
func (f *forest) coreNodes(keys []float64, b float64) []int32 {
	var core []int32
	for k := len(f.order) - 1; k >= 0; k-- {
		if u := f.order[k]; keys[u] > b {
			core = append(core, u)
		}
	}
	return core
}

// clusterTops cuts the trees from the leaves up wherever an unserved load exceeds b and lists the nodes
// at which it cuts: their clusters carry loads in (b, 2b] as long as single nodes carry less than b.
func (f *forest) clusterTops(b float64) []int32 {
	load := make([]float64, len(f.parent))
	var tops []int32
	for k := len(f.order) - 1; k >= 0; k-- {
		u := f.order[k]
		load[u] += f.net.weight[u]
		switch p := f.parent[u]; {
		case load[u] > b:
			tops = append(tops, u)
		case p >= 0:
			load[p] += load[u]
		}
	}
	return tops
}
