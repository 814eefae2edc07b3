package field

import "slices"

// hearing finds who can upload on a route, the sources of the routing forest. Where stops and altitude cost no time
// the sink may stop anywhere along its way, so every node within reach of the line counts; else only those
// within reach of an anchor.
type hearing struct {
	net     *network
	stamp   []int32 // per node: the last round in which it was heard
	tour    []int32 // per node: the tour that heard it first in that round
	round   int32
	sources []int32
	leave   []bool // per connected part: not collected although it has packets; nil when all are
}

func newHearing(net *network) *hearing {
	return &hearing{net: net, stamp: make([]int32, net.len()), tour: make([]int32, net.len())}
}

// enRoute reports whether stops between anchors cost nothing.
func (net *network) enRoute() bool {
	s := net.in.Sink
	return net.in.Upload == Listen && net.stopTime() == 0 && s.Climb == 0 && !net.anchored
}

// hear lists, ascending, the nodes that can upload on the route.
func (h *hearing) hear(r *route) []int32 {
	h.round++
	h.sources = h.sources[:0]
	for i, tour := range r.tours {
		h.hearTour(tour, int32(i))
	}
	slices.Sort(h.sources)
	return h.sources
}

func (h *hearing) add(u, tour int32) {
	if h.stamp[u] != h.round && (h.leave == nil || !h.leave[h.net.part[u]]) {
		h.stamp[u], h.tour[u] = h.round, tour
		h.sources = append(h.sources, u)
	}
}

func (h *hearing) hearTour(tour []anchor, number int32) {
	net := h.net
	if net.in.Upload == Buffer {
		for i := range tour {
			h.add(tour[i].node, number)
		}
		return
	}
	if !net.enRoute() {
		for i := range tour {
			p := tour[i].pos
			net.index.near(p, net.reach, func(u int32) bool {
				if len(net.shields) == 0 || net.hears(p, u) {
					h.add(u, number)
				}
				return true
			})
		}
		return
	}
	for _, leg := range net.legs(tour) {
		net.index.corridor(leg[0], leg[1], net.reach, func(u int32) bool {
			if h.stamp[u] != h.round && (len(net.shields) == 0 || net.hears(nearest(net.pos[u], leg[0], leg[1]), u)) {
				h.add(u, number)
			}
			return true
		})
	}
}

// legs are the straight pieces that the sink drives, corners of detours included.
func (net *network) legs(tour []anchor) [][2]Point {
	path := net.path(tour)
	if len(path) == 0 {
		return nil
	}
	if len(path) == 1 {
		return [][2]Point{{path[0], path[0]}}
	}
	legs := make([][2]Point, 0, len(path)-1)
	for i := 1; i < len(path); i++ {
		legs = append(legs, [2]Point{path[i-1], path[i]})
	}
	return legs
}

// path is the closed line that the sink drives; the last point equals the first.
func (net *network) path(tour []anchor) []Point {
	if len(tour) == 0 {
		return nil
	}
	start := tour[0].pos
	if net.in.Depot != nil {
		start = *net.in.Depot
	}
	list := []Point{start}
	for i := range tour {
		if p := tour[i].pos; p != list[len(list)-1] {
			list = net.air.path(list, list[len(list)-1], p)
		}
	}
	if last := list[len(list)-1]; last != start {
		list = net.air.path(list, last, start)
	}
	return list
}
