package graph

// Optimize returns an equivalent graph that costs less to run; g itself is left alone. Values
// are new, so look them up by the names of inputs, params, states, outputs and gradients, all
// of which are kept. Results differ from those of g by rounding only.
//
// The passes, in order:
//
//   - canonicalise: operations that change nothing vanish, neighbours that undo or repeat each
//     other are merged, equal expressions are computed once;
//   - fold inference batch norm into the filter before it, where the filter is the smaller;
//   - mask early: ReLU's gradient moves before max pooling's and dropout's;
//   - sink reshapes below elementwise operations, so that these meet the product before them;
//   - fuse: bias, residual, ReLU and ReLU's gradient move into products, normalisations and
//     pooling gradients;
//   - drop what neither an output, a gradient nor an overwritten param or state needs.
//
// Optimize keeps the order of nodes where it can; a fused node stands at the place of the first
// of its parts at which all operands exist. Updates stay where they are: see ScheduleUpdates.
func Optimize(g *Graph) (*Graph, error) {
	rewrites := []rule{canonicalise(), canonicalise(), foldNorm, maskEarly, maskEarly, sinkReshape, canonicalise()}
	for _, r := range rewrites {
		next, err := rewrite(g, r)
		if err != nil {
			return nil, err
		}
		g = dropDead(next)
	}
	fuse(g)
	return g, g.Check()
}
