package graph

// maskBeforeUnpool moves ReLU's gradient from behind max pooling's gradient to before it. Where
// y = relu(z) is pooled, the gradient reaches only taps whose y is the pooled maximum, so
// masking by y > 0 after scattering equals masking by maximum > 0 before. The mask is smaller,
// can join the product that made the gradient, and y need not be kept for the backward pass.
func maskBeforeUnpool(r *rewriter, n *Node, in []*Value) []*Value {
	a, ok := n.Attr.(UnaryAttr)
	if !ok || n.Op != "unary_grad" || a.Kind != Relu || r.oldUsers[n.In[0]] != 1 {
		return nil
	}
	unpool := r.maker(in[0], "max_pool_grad")
	if unpool == nil || unpool.Attr.(PoolAttr).Mask {
		return nil
	}
	pool := r.maker(unpool.In[1], "max_pool")
	if pool == nil || pool.In[0] != in[1] {
		return nil
	}
	dy := r.Apply("unary_grad", a, unpool.In[0], pool.Out[0])[0]
	return r.Apply("max_pool_grad", unpool.Attr, dy, unpool.In[1])
}
