package field

import (
	"math"
	"slices"
)

// Reference is what RPS-LB's reference tree achieves by itself, when the sink walks along the tree and positions are not known: the
// measure for protocols that do without them.
type Reference struct {
	Root    int     // the weighted median of the heaviest connected part, or the sensor nearest to the depot
	Stops   []int   // the core without the root, ascending
	MaxLoad float64 // of the sensors that are not stops, and of the stops' own packets
}

// NewReference grows the tree with all of the graph in view and takes the smallest B for which the core has at most
// the given number of nodes beside the root. Parts of the network that are not connected with the root are ignored.
// The error is an [*InputError].
func NewReference(in *Instance, stops int) (*Reference, error) {
	net, err := newNetwork(in)
	if err != nil {
		return nil, err
	}
	f := newForest(net)
	if net.len() == 0 {
		return &Reference{Root: -1}, nil
	}
	root := net.referenceRoot()
	f.growReference([]int32{root})
	keys := coreKeys(f)
	order := make([]float64, 0, len(f.order))
	links := make([]float64, 0, len(f.order)) // halves: a walk takes each twice
	for _, u := range f.order {
		order, links = append(order, keys[u]), append(links, 0.5)
	}
	links[slices.Index(f.order, root)] = 0
	floor := 0.0
	for _, u := range f.order {
		floor = max(floor, net.weight[u]*net.scale[u])
	}
	b := smallestCore(order, links, floor, float64(stops))
	ref := &Reference{Root: int(net.orig[root]), MaxLoad: floor}
	for _, u := range f.order {
		switch {
		case u == root:
		case keys[u] > b:
			ref.Stops = append(ref.Stops, int(net.orig[u]))
		default:
			ref.MaxLoad = max(ref.MaxLoad, f.cost(u))
		}
	}
	slices.Sort(ref.Stops)
	return ref, nil
}

// referenceRoot is the node nearest to the depot, else the median of the part with the most packets.
func (net *network) referenceRoot() int32 {
	if d := net.in.Depot; d != nil {
		return net.index.closest(*d, nil)
	}
	packets := make([]float64, net.parts)
	for u, c := range net.part {
		packets[c] += net.weight[u]
	}
	best, most := int32(0), math.Inf(-1)
	for c, sum := range packets {
		if sum > most {
			best, most = int32(c), sum
		}
	}
	return medians(net)[best]
}

// growReference grows the load-balanced reference tree: the sources are roots, whose load is given, so it is their branches that
// must come out alike.
func (f *forest) growReference(roots []int32) {
	f.grow(roots)
	f.even = false
	f.relieve(2*ownFloor(f.net), 4)
	f.reorder()
}
