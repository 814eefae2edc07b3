package vec

// Batch norm (Ioffe and Szegedy 2015) over an NHWC tensor seen as rows×cols, one channel a
// column. Forward: BatchNormPartial on each chunk of rows, BatchNormFinish, AffineRows with
// mean and scale = γ·invStd. Backward: BatchNormGradPartial on each chunk, BatchNormGradFinish,
// BatchNormGradInput. Where y is given, the gradient passes a ReLU whose output is y first.

type (
	momentKernel   = func(sum, sq, x, shift []float32, rows, cols int)
	bnGradKernel   = func(sum, sumX, dy, x, y, mean []float32, rows, cols int)
	bnInputsKernel = func(dx, dres, dy, x, y, mean, coef []float32, rows, cols int)
)

// BatchNormPartial sets part[:cols] to the means and part[cols:2·cols] to the sums of squared
// deviations from them of the columns of x, a chunk of rows ≤ ChunkRows. Sums are taken about
// the first row, so a large mean costs no precision.
func BatchNormPartial(part, x []float32, rows, cols int) {
	sum, sq := part[:cols], part[cols:2*cols]
	clear(part[:2*cols])
	f := momentsTab.pick()
	shift := x[:cols]
	step := rowBlock(cols, sumRows)
	for r := 0; r < rows; r += step {
		k := min(step, rows-r)
		f(sum, sq, x[r*cols:(r+k)*cols], shift, k, cols)
	}
	inv := 1 / float64(rows)
	for c := range sum {
		s := float64(sum[c])
		sum[c] = float32(float64(shift[c]) + s*inv)
		sq[c] = float32(max(float64(sq[c])-s*s*inv, 0))
	}
}

// BatchNormFinish joins the partials of consecutive chunks of chunkRows rows each (the last may
// be shorter) of rows in all, in float64: the squared deviations from the mean of all are those
// within each chunk and those of the chunks' means (Chan, Golub and LeVeque 1979). It sets mean,
// the biased variance and invStd = 1/√(variance+eps).
func BatchNormFinish(mean, variance, invStd, parts []float32, chunkRows, rows int, eps float32) {
	cols := len(mean)
	inv := 1 / float64(rows)
	for c := range mean {
		var mu, m2 float64
		for at := 0; at < rows; at += chunkRows {
			mu += float64(min(chunkRows, rows-at)) * float64(parts[at/chunkRows*2*cols+c])
		}
		mu *= inv
		for at := 0; at < rows; at += chunkRows {
			part := parts[at/chunkRows*2*cols:]
			d := float64(part[c]) - mu
			m2 += float64(part[cols+c]) + d*d*float64(min(chunkRows, rows-at))
		}
		v := m2 * inv
		mean[c], variance[c], invStd[c] = float32(mu), float32(v), 1/sqrt32(v+float64(eps))
	}
}

// BatchNormRunning moves the running statistics towards a batch of rows rows by the factor
// momentum (PyTorch's meaning, 0.1; TensorFlow's is 1 - momentum). With unbiased, the variance is
// scaled by rows/(rows-1) as in PyTorch; TensorFlow keeps the biased one.
func BatchNormRunning(runMean, runVar, mean, variance []float32, rows int, momentum float32, unbiased bool) {
	factor := 1.0
	if unbiased && rows > 1 {
		factor = float64(rows) / float64(rows-1)
	}
	a := float64(momentum)
	for c := range runMean {
		runMean[c] = float32((1-a)*float64(runMean[c]) + a*float64(mean[c]))
		runVar[c] = float32((1-a)*float64(runVar[c]) + a*factor*float64(variance[c]))
	}
}

// BatchNormGradPartial sets part[:cols] = Σ dy and part[cols:2·cols] = Σ dy·(x-mean) over a chunk
// of rows ≤ ChunkRows. Where y is not nil, dy counts only where y > 0.
func BatchNormGradPartial(part, dy, x, y, mean []float32, rows, cols int) {
	sum, sumX := part[:cols], part[cols:2*cols]
	clear(part[:2*cols])
	t := &bnGradTab
	if y != nil {
		t, y = &bnGradMaskedTab, y[:rows*cols]
	}
	f := t.pick()
	dy, x, mean = dy[:rows*cols], x[:rows*cols], mean[:cols]
	step := rowBlock(cols, sumRows)
	for r := 0; r < rows; r += step {
		k := min(step, rows-r)
		f(sum, sumX, dy[r*cols:], x[r*cols:], tail(y, r*cols), mean, k, cols)
	}
}

// BatchNormGradFinish joins the partials of all chunks: dγ = Σ dy·x̂ and dβ = Σ dy, with
// x̂ = (x-mean)·invStd, and coef (3·cols numbers) for BatchNormGradInput over rows rows in all.
func BatchNormGradFinish(dGamma, dBeta, coef, parts, gamma, invStd []float32, chunks, rows int) {
	cols := len(dGamma)
	for c := range dGamma {
		var s, sx float64
		for k := range chunks {
			part := parts[k*2*cols:]
			s += float64(part[c])
			sx += float64(part[cols+c])
		}
		inv := float64(invStd[c])
		dGamma[c], dBeta[c] = float32(sx*inv), float32(s)
		coef[c] = float32(float64(gamma[c]) * inv)
		coef[cols+c] = float32(s / float64(rows))
		coef[2*cols+c] = float32(sx * inv * inv / float64(rows))
	}
}

// BatchNormGradInput sets dx = γ·invStd·(dy - Σdy/m - x̂·Σ(dy·x̂)/m) for a range of rows. Where y is
// not nil, dy counts only where y > 0, and where dres is not nil too, it is set to that masked
// dy, the gradient of a residual added before the ReLU. dx may be dy's memory.
func BatchNormGradInput(dx, dres, dy, x, y, mean, coef []float32, rows, cols int) {
	n := rows * cols
	dx, dy, x, mean, coef = dx[:n], dy[:n], x[:n], mean[:cols], coef[:3*cols]
	t := &bnInputTab
	if y != nil {
		t, y = &bnInputMaskedTab, y[:n]
		if dres != nil {
			t, dres = &bnInputResidualTab, dres[:n]
		}
	}
	f := t.pick()
	step := rowBlock(cols, mapRows)
	for r := 0; r < rows; r += step {
		k := min(step, rows-r)
		f(dx[r*cols:], tail(dres, r*cols), dy[r*cols:], x[r*cols:], tail(y, r*cols), mean, coef, k, cols)
	}
}

func momentsGeneric(sum, sq, x, shift []float32, rows, cols int) {
	for r := range rows {
		for c, v := range x[r*cols:][:cols] {
			v -= shift[c]
			sum[c] += v
			sq[c] += v * v
		}
	}
}

func bnGradGeneric(sum, sumX, dy, x, _, mean []float32, rows, cols int) {
	bnGradMaskedGeneric(sum, sumX, dy, x, nil, mean, rows, cols)
}

func bnGradMaskedGeneric(sum, sumX, dy, x, y, mean []float32, rows, cols int) {
	for r := range rows {
		g, xs, ys := dy[r*cols:][:cols], x[r*cols:][:cols], tail(y, r*cols)
		for c, v := range g {
			if ys != nil && !(ys[c] > 0) {
				continue
			}
			sum[c] += v
			sumX[c] += v * (xs[c] - mean[c])
		}
	}
}

func bnInputGeneric(dx, _, dy, x, _, mean, coef []float32, rows, cols int) {
	for r := range rows {
		at := r * cols
		bnInputRow(dx[at:at+cols], dy[at:at+cols], x[at:at+cols], mean, coef)
	}
}

func bnInputMaskedGeneric(dx, _, dy, x, y, mean, coef []float32, rows, cols int) {
	for r := range rows {
		at := r * cols
		d := dx[at : at+cols]
		reluGradGeneric(d, dy[at:at+cols], y[at:at+cols])
		bnInputRow(d, d, x[at:at+cols], mean, coef)
	}
}

func bnInputResidualGeneric(dx, dres, dy, x, y, mean, coef []float32, rows, cols int) {
	for r := range rows {
		at := r * cols
		d := dres[at : at+cols]
		reluGradGeneric(d, dy[at:at+cols], y[at:at+cols])
		bnInputRow(dx[at:at+cols], d, x[at:at+cols], mean, coef)
	}
}

func bnInputRow(dx, dy, x, mean, coef []float32) {
	n := len(dx)
	k, c0, c1 := coef[:n], coef[n:2*n], coef[2*n:3*n]
	dy, x, mean = dy[:n], x[:n], mean[:n]
	for c := range dx {
		dx[c] = k[c] * (dy[c] - c0[c] - (x[c]-mean[c])*c1[c])
	}
}
