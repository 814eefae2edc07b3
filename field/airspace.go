package field

import (
	"fmt"
	"math"
)

// airspace measures and finds the shortest way of the sink around the no-fly zones: the visibility
// graph of their corners (Lozano-Perez and Wesley, CACM 1979), with the shortest distances between
// all corners worked out once.
type airspace struct {
	zones   []polygon
	corners []Point
	far     [][]float64 // shortest distance between corners
	via     [][]int32   // the corner after the first on that way
	seen    map[Point][]int32
}

// maxCorners bounds the corners of all no-fly zones together; the tables grow with their square.
const maxCorners = 2000

// newAirspace returns nil when there are no no-fly zones.
func newAirspace(obstacles []Obstacle) (*airspace, error) {
	a := &airspace{zones: polygonsOf(obstacles, func(o Obstacle) bool { return o.NoFly }), seen: map[Point][]int32{}}
	if len(a.zones) == 0 {
		return nil, nil
	}
	for _, z := range a.zones {
		for _, c := range z.ring {
			if !anyContains(a.zones, c) {
				a.corners = append(a.corners, c)
			}
		}
	}
	if len(a.corners) > maxCorners {
		return nil, &InputError{Field: "obstacles", Sensor: -1, Problem: fmt.Sprintf("no-fly zones have %d corners together, more than %d; simplify them", len(a.corners), maxCorners)}
	}
	a.measure()
	return a, nil
}

// measure fills far and via by a shortest-path search from each corner.
func (a *airspace) measure() {
	n := len(a.corners)
	sees := make([][]int32, n)
	for u := range n {
		for v := u + 1; v < n; v++ {
			if !anyCrossed(a.zones, a.corners[u], a.corners[v]) {
				sees[u], sees[v] = append(sees[u], int32(v)), append(sees[v], int32(u))
			}
		}
	}
	a.far, a.via = make([][]float64, n), make([][]int32, n)
	for goal := range n {
		a.far[goal], a.via[goal] = make([]float64, n), make([]int32, n)
		for i := range n {
			a.far[goal][i], a.via[goal][i] = math.Inf(1), -1
		}
		dist := a.far[goal]
		dist[goal] = 0
		queue := frontier{{0, int32(goal)}}
		for len(queue) > 0 {
			top := queue.pop()
			if top.at > dist[top.node] {
				continue
			}
			for _, v := range sees[top.node] {
				if d := top.at + a.corners[top.node].Dist(a.corners[v]); d < dist[v] {
					dist[v], a.via[goal][v] = d, top.node
					queue.push(nodeAt{d, v})
				}
			}
		}
	}
}

// visible lists the corners that p sees; the answer is kept.
func (a *airspace) visible(p Point) []int32 {
	if list, ok := a.seen[p]; ok {
		return list
	}
	list := []int32{}
	for i, c := range a.corners {
		if !anyCrossed(a.zones, p, c) {
			list = append(list, int32(i))
		}
	}
	if len(a.seen) > 1<<16 {
		clear(a.seen)
	}
	a.seen[p] = list
	return list
}

// dist is the length of the shortest allowed way from p to q: +Inf when there is none.
func (a *airspace) dist(p, q Point) float64 {
	if a == nil {
		return p.Dist(q)
	}
	d, _, _ := a.best(p, q)
	return d
}

// best finds the first and last corner of the shortest way; both are -1 when the way is straight.
func (a *airspace) best(p, q Point) (d float64, first, last int32) {
	if !anyCrossed(a.zones, p, q) {
		return p.Dist(q), -1, -1
	}
	d, first, last = math.Inf(1), -1, -1
	from, to := a.visible(p), a.visible(q)
	for _, v := range to {
		tail, row := a.corners[v].Dist(q), a.far[v]
		for _, u := range from {
			if way := p.Dist(a.corners[u]) + row[u] + tail; way < d {
				d, first, last = way, u, v
			}
		}
	}
	return d, first, last
}

// path appends the way from p to q, without p, to list.
func (a *airspace) path(list []Point, p, q Point) []Point {
	if a == nil {
		return append(list, q)
	}
	_, u, last := a.best(p, q)
	for u >= 0 {
		list = append(list, a.corners[u])
		if u == last {
			break
		}
		u = a.via[last][u]
	}
	return append(list, q)
}

// allowed reports whether the sink may wait at p.
func (a *airspace) allowed(p Point) bool { return a == nil || !anyContains(a.zones, p) }
