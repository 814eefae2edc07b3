package graph

// maskEarly moves ReLU's gradient, which keeps dy where the ReLU's result y is positive, before
// the operation that made dy, so that it can join the product before that.
//
// Where max pooling took y, its gradient reaches only taps whose y is the pooled maximum, so
// masking by y > 0 behind it equals masking by maximum > 0 before it. That mask is smaller, and
// y need not be kept for the backward pass. Where dropout took y, the two masks commute.
func maskEarly(r *rewriter, n *Node, in []*Value) []*Value {
	a, ok := n.Attr.(UnaryAttr)
	if !ok || n.Op != "unary_grad" || a.Kind != Relu || r.oldUsers[n.In[0]] != 1 {
		return nil
	}
	if drop := r.maker(in[0], "dropout"); drop != nil {
		dy := r.Apply("unary_grad", a, drop.In[0], in[1])
		return r.Apply("dropout", drop.Attr, dy...)
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
