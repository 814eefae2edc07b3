package vec

import "math"

// Elementwise losses of a prediction x against a target t. Each gives the sum of the loss over
// the range and, where dx is not nil, sets dx to scale times the derivative with respect to x.

// MSE is the squared error (x-t)².
func MSE(dx, x, t []float32, scale float32) float64 {
	sum := 0.0
	for i, v := range x {
		d := v - t[i]
		sum += float64(d) * float64(d)
		if dx != nil {
			dx[i] = 2 * scale * d
		}
	}
	return sum
}

// Huber is ½(x-t)² where |x-t| ≤ delta and delta·(|x-t| - ½delta) beyond (Huber 1964).
func Huber(dx, x, t []float32, delta, scale float32) float64 {
	sum := 0.0
	for i, v := range x {
		d := v - t[i]
		a := float32(math.Abs(float64(d)))
		g := d
		if a <= delta {
			sum += 0.5 * float64(d) * float64(d)
		} else {
			sum += float64(delta) * (float64(a) - 0.5*float64(delta))
			g = float32(math.Copysign(float64(delta), float64(d)))
		}
		if dx != nil {
			dx[i] = scale * g
		}
	}
	return sum
}

// BCELogits is the binary cross-entropy -t·ln p - (1-t)·ln(1-p) of p = σ(x), computed as
// max(x,0) - x·t + ln(1+e^-|x|), which no x makes overflow.
func BCELogits(dx, x, t []float32, scale float32) float64 {
	sum := 0.0
	for i, v := range x {
		z, q := float64(v), float64(t[i])
		e := math.Exp(-math.Abs(z))
		sum += max(z, 0) - z*q + math.Log1p(e)
		if dx != nil {
			s := 1 / (1 + e) // σ(|x|)
			if z < 0 {
				s = e / (1 + e)
			}
			dx[i] = scale * float32(s-q)
		}
	}
	return sum
}
