package field

import (
	"math"
	"testing"
)

// TestRoutingBoundIsTheLeastFractionalLoad compares with bisection over whole flows on networks small enough to enumerate cuts: by
// the max-flow min-cut theorem the least load is the largest of packets behind a set over the sending nodes on its border.
func TestRoutingBoundIsTheLeastFractionalLoad(t *testing.T) {
	for seed := range uint64(60) {
		in := square(9, 100, 45, 0, seed)
		for i := range in.Sensors {
			in.Sensors[i].Weight = float64(1 + (i+int(seed))%3)
			if i%4 == 0 {
				in.Sensors[i].Energy = 0.25
			}
		}
		net, err := newNetwork(in)
		if err != nil {
			t.Fatal(err)
		}
		sources := []int32{int32(seed % 9), int32((seed + 4) % 9)}
		reached := map[int32]bool{net.part[sources[0]]: true, net.part[sources[1]]: true}
		weight := make([]float64, net.len())
		for u := range weight {
			if reached[net.part[u]] {
				weight[u] = net.weight[u]
			}
		}
		want := 0.0
		for set := 1; set < 1<<net.len(); set++ {
			behind, share := 0.0, 0.0
			for u := range net.len() {
				if set&(1<<u) == 0 {
					continue
				}
				behind += weight[u]
				leaves := int32(u) == sources[0] || int32(u) == sources[1]
				for _, v := range net.graph.Neighbors(u) {
					leaves = leaves || set&(1<<v) == 0
				}
				if leaves {
					share += 1 / net.scale[u]
				}
			}
			if behind > 0 {
				want = max(want, behind/share)
			}
		}
		for u, w := range weight { // each node's own packets
			want = max(want, w*net.scale[u])
		}
		if got := routingBound(net, weight, sources); math.Abs(got-want) > 1e-6*want {
			t.Errorf("seed %d: %g, largest cut %g", seed, got, want)
		}
	}
}

func TestRoutingIsNearlyAsGoodAsFractional(t *testing.T) {
	p := mustSolve(t, square(400, 300, 35, 400, 61), Options{Effort: 300})
	if r := p.Certificate.Routing; r < p.Certificate.Bound || p.MaxLoad > 2*r+1 {
		t.Errorf("largest load %g, bound on routings to its stops %g, bound on all plans %g", p.MaxLoad, r, p.Certificate.Bound)
	}
}
