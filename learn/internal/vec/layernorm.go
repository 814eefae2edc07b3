package vec

type (
	layerNormRowKernel = func(y, x, gamma, beta []float32, inv, eps float32) (mean, invStd float32)
	reduceShifted      = func(x []float32, mean float32) float32
	lnApplyKernel      = func(dst, x, gamma, beta []float32, mean, invStd float32)
	lnSumsKernel       = func(dy, x, gamma []float32, mean float32) (s, sx float32)
	lnInputKernel      = func(dx, dy, x, gamma []float32, mean, a, c0, c1 float32)
	lnGradKernel       = func(sum, sumX, dy, x, mean, invStd []float32, rows, cols int)
)

// LayerNorm (Ba, Kiros and Hinton 2016) normalises each row of x (rows×cols): y = γ·x̂ + β with
// x̂ = (x-mean)·invStd and the row's own mean and invStd = 1/√(variance+eps), which it stores for
// the backward pass.
func LayerNorm(y, x, gamma, beta, mean, invStd []float32, rows, cols int, eps float32) {
	f := layerNormRowTab.pick()
	gamma, beta = gamma[:cols], beta[:cols]
	inv := float32(1 / float64(cols))
	for r := range rows {
		xs, ys := x[r*cols:][:cols], y[r*cols:][:cols]
		if cols <= block {
			mean[r], invStd[r] = f(ys, xs, gamma, beta, inv, eps)
		} else {
			mean[r], invStd[r] = layerNormLong(ys, xs, gamma, beta, eps)
		}
	}
}

// layerNormLong normalises a row that is too long for one kernel call.
func layerNormLong(y, x, gamma, beta []float32, eps float32) (mean, invStd float32) {
	dev, apply := deviationTab.pick(), lnApplyTab.pick()
	n := len(x)
	mean = float32(Sum(x) / float64(n))
	m2 := 0.0
	for at := 0; at < n; at += block {
		m2 += float64(dev(x[at:min(at+block, n)], mean))
	}
	invStd = 1 / sqrt32(m2/float64(n)+float64(eps))
	for at := 0; at < n; at += block {
		end := min(at+block, n)
		apply(y[at:end], x[at:end], gamma[at:end], beta[at:end], mean, invStd)
	}
	return mean, invStd
}

// LayerNormGrad sets dx = invStd·(g - mean(g) - x̂·mean(g·x̂)) with g = dy·γ, row by row.
func LayerNormGrad(dx, dy, x, gamma, mean, invStd []float32, rows, cols int) {
	sums, input := lnSumsTab.pick(), lnInputTab.pick()
	gamma = gamma[:cols]
	for r := range rows {
		gs, xs, ds := dy[r*cols:][:cols], x[r*cols:][:cols], dx[r*cols:][:cols]
		var s, sx float64
		for at := 0; at < cols; at += block {
			end := min(at+block, cols)
			a, b := sums(gs[at:end], xs[at:end], gamma[at:end], mean[r])
			s, sx = s+float64(a), sx+float64(b)
		}
		inv, n := float64(invStd[r]), float64(cols)
		c0, c1 := float32(s/n), float32(sx*inv*inv/n)
		for at := 0; at < cols; at += block {
			end := min(at+block, cols)
			input(ds[at:end], gs[at:end], xs[at:end], gamma[at:end], mean[r], invStd[r], c0, c1)
		}
	}
}

// LayerNormGradPartial sets part[:cols] = Σ dy·x̂ and part[cols:2·cols] = Σ dy over a chunk of rows ≤
// ChunkRows; SumPartials over the chunks gives dγ followed by dβ.
func LayerNormGradPartial(part, dy, x, mean, invStd []float32, rows, cols int) {
	clear(part[:2*cols])
	f := lnGradTab.pick()
	dy, x = dy[:rows*cols], x[:rows*cols]
	step := rowBlock(cols, sumRows)
	for r := 0; r < rows; r += step {
		k := min(step, rows-r)
		f(part[cols:2*cols], part[:cols], dy[r*cols:], x[r*cols:], mean[r:r+k], invStd[r:r+k], k, cols)
	}
}

func layerNormRowGeneric(y, x, gamma, beta []float32, inv, eps float32) (mean, invStd float32) {
	mean = sumGeneric(x) * inv
	invStd = 1 / sqrt32(float64(deviationGeneric(x, mean)*inv+eps))
	lnApplyGeneric(y, x, gamma, beta, mean, invStd)
	return mean, invStd
}

func deviationGeneric(x []float32, mean float32) float32 {
	var s float32
	for _, v := range x {
		v -= mean
		s += v * v
	}
	return s
}

func lnApplyGeneric(dst, x, gamma, beta []float32, mean, invStd float32) {
	for i := range dst {
		dst[i] = (x[i]-mean)*invStd*gamma[i] + beta[i]
	}
}

func lnSumsGeneric(dy, x, gamma []float32, mean float32) (s, sx float32) {
	for i, g := range dy {
		g *= gamma[i]
		s += g
		sx += g * (x[i] - mean)
	}
	return s, sx
}

func lnInputGeneric(dx, dy, x, gamma []float32, mean, a, c0, c1 float32) {
	for i := range dx {
		dx[i] = a * (dy[i]*gamma[i] - c0 - (x[i]-mean)*c1)
	}
}

func lnGradGeneric(sum, sumX, dy, x, mean, invStd []float32, rows, cols int) {
	for r := range rows {
		mu, inv := mean[r], invStd[r]
		xs := x[r*cols:][:cols]
		for c, g := range dy[r*cols:][:cols] {
			sum[c] += g
			sumX[c] += g * ((xs[c] - mu) * inv)
		}
	}
}
