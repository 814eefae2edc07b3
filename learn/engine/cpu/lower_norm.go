package cpu

import (
	"millrace.dev/learn/graph"
	"millrace.dev/learn/internal/vec"
)

// partRows is how many rows of cols elements one partial sum covers.
func partRows(rows, cols int) int {
	return max(min(chunkSize(rows, cols), vec.ChunkRows), (rows+maxChunks-1)/maxChunks)
}

// parts is a phase over chunks of partRows rows.
func parts(rows, cols int, f func(chunk, lo, hi int)) phase {
	size := partRows(rows, cols)
	return phase{chunkCount(rows, size), func(_, chunk int) {
		lo := chunk * size
		f(chunk, lo, min(lo+size, rows))
	}}
}

// finish is a phase that joins what the one before has left.
func finish(f func()) phase { return phase{1, func(int, int) { f() }} }

func lowerBatchNorm(_ *compiler, n *graph.Node) (*op, error) {
	a, x := n.Attr.(graph.NormAttr), n.In[0].Shape()
	rows, cols := x.Rows(), x.Last()
	size := partRows(rows, cols)
	chunks := chunkCount(rows, size)
	return &op{kernel: "batch_norm", shared: chunks*2*cols + 2*cols, bind: func(b *binding) bound {
		x, gamma, beta, runMean, runVar := b.f32(n.In[0]), b.f32(n.In[1]), b.f32(n.In[2]), b.f32(n.In[3]), b.f32(n.In[4])
		y, mean, rstd := b.f32(n.Out[0]), b.f32(n.Out[1]), b.f32(n.Out[2])
		var res []float32
		if a.Residual {
			res = b.f32(n.In[5])
		}
		work := b.work()
		variance, scale, sums := work[:cols], work[cols:2*cols], work[2*cols:]
		return bound{phases: []phase{
			parts(rows, cols, func(k, lo, hi int) {
				vec.BatchNormPartial(sums[k*2*cols:], x[lo*cols:hi*cols], hi-lo, cols)
			}),
			finish(func() {
				vec.BatchNormFinish(mean, variance, rstd, sums, size, rows, a.Eps)
				vec.BatchNormRunning(runMean, runVar, mean, variance, rows, a.Momentum, true)
				vec.Mul(scale, gamma, rstd)
			}),
			chunked(rows, cols, func(_, lo, hi int) {
				vec.AffineRows(y[lo*cols:], x[lo*cols:], from(res, lo*cols), mean, scale, beta, hi-lo, cols, a.Act == graph.ReLU)
			}),
		}}
	}}, nil
}

// from is v[at:], nil when v is nil.
func from(v []float32, at int) []float32 {
	if v == nil {
		return nil
	}
	return v[at:]
}

func lowerBatchNormInfer(_ *compiler, n *graph.Node) (*op, error) {
	a, x := n.Attr.(graph.NormAttr), n.In[0].Shape()
	rows, cols := x.Rows(), x.Last()
	return &op{kernel: "batch_norm_infer", shared: cols, inPlace: []int{0}, bind: func(b *binding) bound {
		x, gamma, beta, mean, variance := b.f32(n.In[0]), b.f32(n.In[1]), b.f32(n.In[2]), b.f32(n.In[3]), b.f32(n.In[4])
		y, scale := b.f32(n.Out[0]), b.work()
		var res []float32
		if a.Residual {
			res = b.f32(n.In[5])
		}
		return bound{phases: []phase{
			finish(func() {
				vec.BinaryScalar(vec.OpAdd, scale, variance, a.Eps)
				vec.Rsqrt(scale, scale)
				vec.Mul(scale, scale, gamma)
			}),
			chunked(rows, cols, func(_, lo, hi int) {
				vec.AffineRows(y[lo*cols:], x[lo*cols:], from(res, lo*cols), mean, scale, beta, hi-lo, cols, a.Act == graph.ReLU)
			}),
		}}
	}}, nil
}

func lowerBatchNormGrad(_ *compiler, n *graph.Node) (*op, error) {
	masked := n.Attr.(graph.NormGradAttr).Mask
	rows, cols := n.In[1].Shape().Rows(), n.In[1].Shape().Last()
	chunks := chunkCount(rows, partRows(rows, cols))
	return &op{kernel: "batch_norm_grad", shared: chunks*2*cols + 3*cols, inPlace: []int{0}, bind: func(b *binding) bound {
		dy, x, gamma, mean, rstd := b.f32(n.In[0]), b.f32(n.In[1]), b.f32(n.In[2]), b.f32(n.In[3]), b.f32(n.In[4])
		dx, dGamma, dBeta := b.f32(n.Out[0]), b.f32(n.Out[1]), b.f32(n.Out[2])
		var y []float32
		if masked {
			y = b.f32(n.In[5])
		}
		work := b.work()
		coef, sums := work[:3*cols], work[3*cols:]
		return bound{phases: []phase{
			parts(rows, cols, func(k, lo, hi int) {
				vec.BatchNormGradPartial(sums[k*2*cols:], dy[lo*cols:hi*cols], x[lo*cols:hi*cols], from(y, lo*cols), mean, hi-lo, cols)
			}),
			finish(func() { vec.BatchNormGradFinish(dGamma, dBeta, coef, sums, gamma, rstd, chunks, rows) }),
			chunked(rows, cols, func(_, lo, hi int) {
				vec.BatchNormGradInput(dx[lo*cols:], nil, dy[lo*cols:], x[lo*cols:], from(y, lo*cols), mean, coef, hi-lo, cols)
			}),
		}}
	}}, nil
}

func lowerLayerNorm(_ *compiler, n *graph.Node) (*op, error) {
	a := n.Attr.(graph.NormAttr)
	rows, cols := n.In[0].Shape().Rows(), n.In[0].Shape().Last()
	return &op{kernel: "layer_norm", inPlace: nil, bind: func(b *binding) bound {
		x, gamma, beta := b.f32(n.In[0]), b.f32(n.In[1]), b.f32(n.In[2])
		y, mean, rstd := b.f32(n.Out[0]), b.f32(n.Out[1]), b.f32(n.Out[2])
		return bound{phases: over(rows, cols, func(lo, hi int) {
			vec.LayerNorm(y[lo*cols:], x[lo*cols:], gamma, beta, mean[lo:], rstd[lo:], hi-lo, cols, a.Eps)
		})}
	}}, nil
}

func lowerLayerNormGrad(_ *compiler, n *graph.Node) (*op, error) {
	rows, cols := n.In[1].Shape().Rows(), n.In[1].Shape().Last()
	chunks := chunkCount(rows, partRows(rows, cols))
	return &op{kernel: "layer_norm_grad", shared: (chunks + 1) * 2 * cols, bind: func(b *binding) bound {
		dy, x, gamma, mean, rstd := b.f32(n.In[0]), b.f32(n.In[1]), b.f32(n.In[2]), b.f32(n.In[3]), b.f32(n.In[4])
		dx, dGamma, dBeta := b.f32(n.Out[0]), b.f32(n.Out[1]), b.f32(n.Out[2])
		work := b.work()
		both, sums := work[:2*cols], work[2*cols:]
		return bound{phases: []phase{
			parts(rows, cols, func(k, lo, hi int) {
				at, end := lo*cols, hi*cols
				vec.LayerNormGradPartial(sums[k*2*cols:], dy[at:end], x[at:end], mean[lo:hi], rstd[lo:hi], hi-lo, cols)
				vec.LayerNormGrad(dx[at:end], dy[at:end], x[at:end], gamma, mean[lo:hi], rstd[lo:hi], hi-lo, cols)
			}),
			finish(func() {
				vec.SumPartials(both, sums, chunks)
				copy(dGamma, both[:cols])
				copy(dBeta, both[cols:])
			}),
		}}
	}}, nil
}
