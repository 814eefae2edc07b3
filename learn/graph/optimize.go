package graph

import "fmt"

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
//
// Every pass is followed by Check, so that a faulty one is named and nothing is built on its result.
func Optimize(g *Graph) (*Graph, error) {
	passes := []struct {
		name string
		rule rule
	}{
		{"canonicalise", canonicalise()}, {"canonicalise again", canonicalise()},
		{"fold batch norm", foldNorm},
		{"mask early", maskEarly}, {"mask early again", maskEarly},
		{"sink reshapes", sinkReshape}, {"canonicalise at last", canonicalise()},
	}
	for _, p := range passes {
		next, err := rewrite(g, p.rule)
		if err != nil {
			return nil, err
		}
		g = dropDead(next)
		if err := g.Check(); err != nil {
			return nil, fmt.Errorf("after the pass %q: %w", p.name, err)
		}
	}
	fuse(g)
	if err := g.Check(); err != nil {
		return nil, fmt.Errorf("after the pass \"fuse\": %w", err)
	}
	return g, nil
}
