package field

import "math"

// exactMedian is the largest part of the graph for which the median is found by trying every node.
const exactMedian = 300

// medians finds, for each connected part, a node with the least weighted sum of hops to all others:
// exactly in small parts, else by moving to the centroid of the breadth-first tree until the sum no longer
// falls. A part without weight gets its first node.
func medians(net *network) []int32 {
	members := make([][]int32, net.parts)
	for u, c := range net.part {
		members[c] = append(members[c], int32(u))
	}
	roots := make([]int32, net.parts)
	f := newForest(net)
	for c, list := range members {
		roots[c] = list[0]
		if len(list) > 2 {
			roots[c] = medianOf(f, list)
		}
	}
	return roots
}

func medianOf(f *forest, members []int32) int32 {
	if len(members) <= exactMedian {
		best, least := members[0], math.Inf(1)
		for _, u := range members {
			if sum := f.hopSum(u, members); sum < least {
				best, least = u, sum
			}
		}
		return best
	}
	root := centroidOf(f.net, members)
	least := f.hopSum(root, members)
	for range 20 {
		f.drain(members)
		f.hang([]int32{root})
		next := f.centre(root)
		sum := f.hopSum(next, members)
		if sum >= least {
			break
		}
		root, least = next, sum
	}
	return root
}

// hopSum is the weighted sum of distances from root to the members of its part.
func (f *forest) hopSum(root int32, members []int32) float64 {
	f.drain(members)
	f.explore([]int32{root})
	sum := 0.0
	for _, u := range members {
		sum += f.net.weight[u] * float64(f.dist[u])
	}
	return sum
}

// centroidOf is the member nearest to the weighted centre of gravity.
func centroidOf(net *network, members []int32) int32 {
	var x, y, sum float64
	for _, u := range members {
		w := net.weight[u] + 1e-12
		x, y, sum = x+w*net.pos[u].X, y+w*net.pos[u].Y, sum+w
	}
	mid := Point{x / sum, y / sum}
	best, least := members[0], math.Inf(1)
	for _, u := range members {
		if d := mid.Dist(net.pos[u]); d < least {
			best, least = u, d
		}
	}
	return best
}
