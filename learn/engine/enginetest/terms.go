package enginetest

import (
	"millrace.dev/learn/graph"
)

// terms gives, for every value, how many numbers were added up on the longest way to it. The
// rounding errors of n additions in any order grow like √n.
func terms(g *graph.Graph) map[*graph.Value]int {
	n := map[*graph.Value]int{}
	for _, node := range g.Nodes {
		longest := 0
		for _, v := range node.In {
			longest = max(longest, n[v])
		}
		for _, v := range node.Out {
			n[v] = longest + added(node)
		}
	}
	return n
}

// added is how many numbers a node adds up for one result.
func added(n *graph.Node) int {
	switch n.Op {
	case "matmul", "conv2d", "conv2d_grad_x", "conv2d_grad_w":
		return int(graph.Flops(n))/2/max(n.Out[0].Shape().Elems(), 1) + 3
	case "reduce", "scatter_add", "clip_scale", "softmax_xent", "loss", "gather":
		return largest(n.In) / max(n.Out[0].Shape().Elems(), 1)
	case "batch_norm", "batch_norm_grad":
		return 4 * n.In[0].Shape().Rows()
	case "layer_norm", "softmax", "softmax_grad", "log_softmax", "log_softmax_grad":
		return 2 * n.In[0].Shape().Last()
	case "layer_norm_grad":
		return 2 * max(n.In[0].Shape().Last(), n.In[0].Shape().Rows())
	case "avg_pool", "avg_pool_grad", "max_pool_grad":
		a := n.Attr.(graph.PoolAttr)
		return a.Taps[0] * a.Taps[1]
	}
	return 1
}

func largest(vs []*graph.Value) int {
	n := 1
	for _, v := range vs {
		n = max(n, v.Shape().Elems())
	}
	return n
}
