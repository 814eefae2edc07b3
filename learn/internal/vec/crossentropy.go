package vec

// Target says how CrossEntropy reads its labels.
type Target struct {
	Smoothing float32 // the target is (1-Smoothing)·onehot + Smoothing/classes
	Ignore    int32   // rows with this label count for nothing; a label ≥ 0 names a class too, so usually < 0
}

// CrossEntropy sets loss[r] to the cross-entropy of softmax(x[r]) with the label of row r, and,
// where dx is not nil, each row of dx to scale·∂loss[r]/∂x[r] (for a mean over rows, scale is one
// over CountLabels). x is rows×cols with rows = len(labels); dx may be x's memory. An ignored row
// has loss 0 and gradient 0. A label outside 0..cols-1 gives its row as bad, and the rows from
// there on are not computed; otherwise bad is -1.
func CrossEntropy(loss, dx, x []float32, labels []int32, cols int, t Target, scale float32) (bad int) {
	for r, label := range labels {
		xs := x[r*cols:][:cols]
		var ds []float32
		if dx != nil {
			ds = dx[r*cols:][:cols]
		}
		switch {
		case label == t.Ignore:
			loss[r] = 0
			clear(ds)
		case label < 0 || int(label) >= cols:
			return r
		default:
			loss[r] = crossEntropyRow(ds, xs, int(label), t.Smoothing, scale)
		}
	}
	return -1
}

// crossEntropyRow: with p = softmax(x) and target q, loss = ln Σe^(x-m) - Σ q·(x-m) and
// ∂loss/∂x = p - q.
func crossEntropyRow(dx, x []float32, label int, smoothing, scale float32) float32 {
	picked, sum := float64(x[label]), 0.0
	if smoothing != 0 {
		sum = Sum(x)
	}
	var m float32
	var logSum float64
	if dx == nil {
		m, logSum = logSumExp(x)
	} else {
		m, logSum = softmaxRow(dx, x, scale)
	}
	e, n := float64(smoothing), float64(len(x))
	loss := logSum - (1-e)*(picked-float64(m))
	if smoothing != 0 {
		loss -= e * (sum/n - float64(m))
	}
	if dx != nil {
		if smoothing != 0 {
			run2s(&affineTab, dx, dx, 1, -float32(e/n)*scale)
		}
		dx[label] -= (1 - smoothing) * scale
	}
	return float32(loss)
}

// CountLabels counts the rows that CrossEntropy does not ignore. bad is the first row whose label
// is neither ignored nor in 0..cols-1, -1 when there is none.
func CountLabels(labels []int32, cols int, ignore int32) (valid, bad int) {
	for r, label := range labels {
		switch {
		case label == ignore:
		case label < 0 || int(label) >= cols:
			return valid, r
		default:
			valid++
		}
	}
	return valid, -1
}
