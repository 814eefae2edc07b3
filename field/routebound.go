package field

import "math"

// flowNet is a network of arcs with capacities for Dinic's maximum-flow algorithm; the arc after an even one is its reverse.
type flowNet struct {
	first []int32 // of each node: its newest arc, -1
	next  []int32 // of each arc: the node's arc before
	to    []int32
	room  []float64
	level []int32
	at    []int32
	queue []int32
}

func newFlowNet(nodes, arcs int) *flowNet {
	f := &flowNet{first: make([]int32, nodes), level: make([]int32, nodes), at: make([]int32, nodes),
		next: make([]int32, 0, 2*arcs), to: make([]int32, 0, 2*arcs), room: make([]float64, 0, 2*arcs)}
	for i := range f.first {
		f.first[i] = -1
	}
	return f
}

// arc adds an arc and its reverse and returns its number.
func (f *flowNet) arc(from, to int32, capacity float64) int32 {
	k := int32(len(f.to))
	f.to, f.room, f.next = append(f.to, to, from), append(f.room, capacity, 0), append(f.next, f.first[from], f.first[to])
	f.first[from], f.first[to] = k, k+1
	return k
}

// grade sets levels by breadth-first search over arcs with room; it reports whether to is reached.
func (f *flowNet) grade(from, to int32, least float64) bool {
	for i := range f.level {
		f.level[i] = -1
	}
	f.level[from] = 0
	f.queue = append(f.queue[:0], from)
	for k := 0; k < len(f.queue); k++ {
		u := f.queue[k]
		for a := f.first[u]; a >= 0; a = f.next[a] {
			if v := f.to[a]; f.room[a] > least && f.level[v] < 0 {
				f.level[v] = f.level[u] + 1
				f.queue = append(f.queue, v)
			}
		}
	}
	return f.level[to] >= 0
}

// push sends up to flow from u towards to along rising levels.
func (f *flowNet) push(u, to int32, flow, least float64) float64 {
	if u == to {
		return flow
	}
	sent := 0.0
	for ; f.at[u] >= 0; f.at[u] = f.next[f.at[u]] {
		a := f.at[u]
		v := f.to[a]
		if f.room[a] <= least || f.level[v] != f.level[u]+1 {
			continue
		}
		if d := f.push(v, to, min(flow-sent, f.room[a]), least); d > 0 {
			f.room[a] -= d
			f.room[a^1] += d
			if sent += d; flow-sent <= least {
				return sent
			}
		}
	}
	return sent
}

// maxFlow saturates the network; what is smaller than least counts as nothing.
func (f *flowNet) maxFlow(from, to int32, least float64) float64 {
	sum := 0.0
	for f.grade(from, to, least) {
		copy(f.at, f.first)
		sum += f.push(from, to, math.Inf(1), least)
	}
	return sum
}

// mostRouted is the largest network for which the routing bound is computed.
const mostRouted = 5000

// routingBound is the least maximal load of any routing, over any number of next hops, to the sources that a route allows:
// the maximum lifetime flow. Discrete Newton steps go from one minimum cut to the next: the packets behind a cut divided by
// what its nodes can send for each unit of load. Repeated transmissions (ETX) are left out, which keeps it a lower bound.
func routingBound(net *network, weight []float64, sources []int32) float64 {
	n := int32(net.len())
	from, to := 2*n, 2*n+1
	f := newFlowNet(int(2*n+2), len(net.graph.adj)+2*int(n)+len(sources))
	total := 0.0
	through := make([]int32, n)
	for u := range n {
		f.arc(from, 2*u, weight[u])
		through[u] = f.arc(2*u, 2*u+1, 0)
		for _, v := range net.graph.Neighbors(int(u)) {
			f.arc(2*u+1, 2*v, math.Inf(1))
		}
		total += weight[u]
	}
	for _, s := range sources {
		f.arc(2*s+1, to, math.Inf(1))
	}
	fresh := append([]float64(nil), f.room...)
	load := 0.0
	for u, w := range weight {
		load = max(load, w*net.scale[u])
	}
	for range 100 {
		copy(f.room, fresh)
		for u, a := range through {
			f.room[a] = load / net.scale[u]
		}
		if f.maxFlow(from, to, 1e-9*total) >= total*(1-1e-7) {
			break
		}
		behind, share := 0.0, 0.0
		for u := range n {
			if f.level[2*u] >= 0 {
				behind += weight[u]
				if f.level[2*u+1] < 0 {
					share += 1 / net.scale[u]
				}
			}
		}
		if share == 0 || behind/share <= load*(1+1e-9) {
			break
		}
		load = behind / share
	}
	return load
}
