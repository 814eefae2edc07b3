package report

import (
	"math"
	"strconv"
)

// axis maps values to pixels and has ticks at round numbers.
type axis struct {
	low, high float64 // of the values
	from, to  float64 // in pixels
	step      float64 // between ticks
	whole     bool    // ticks at whole numbers only
}

// newAxis covers the values with some room, in about n ticks. It takes no value that is not
// finite.
func newAxis(values []float64, n int, from, to float64, whole bool) axis {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	if low > high {
		low, high = 0, 1
	}
	if low == high {
		pad := max(math.Abs(low)/10, 1e-3)
		if whole {
			pad = 1
		}
		low, high = low-pad, high+pad
	}
	a := axis{from: from, to: to, step: roundStep((high - low) / float64(n)), whole: whole}
	if whole {
		a.step = max(math.Round(a.step), 1)
		a.low, a.high = low, high
		return a
	}
	a.low = math.Floor(low/a.step) * a.step
	a.high = math.Ceil(high/a.step) * a.step
	return a
}

// roundStep is the smallest of 1, 2 and 5 times a power of ten that is at least x.
func roundStep(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= x*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

func (a axis) at(v float64) float64 {
	return a.from + (v-a.low)/(a.high-a.low)*(a.to-a.from)
}

func (a axis) ticks() []float64 {
	var list []float64
	first := math.Ceil(a.low/a.step - 1e-9)
	for i := first; i*a.step <= a.high*(1+1e-12)+a.step*1e-9; i++ {
		list = append(list, i*a.step)
	}
	return list
}

// label writes a tick with as many decimals as its step has.
func (a axis) label(v float64) string {
	decimals := max(0, int(-math.Floor(math.Log10(a.step)+1e-9)))
	return strconv.FormatFloat(v+0, 'f', min(decimals, 9), 64)
}
