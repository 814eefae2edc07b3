package vec

type (
	reduce1 = func(x []float32) float32
	reduce2 = func(x, y []float32) float32
)

// Sum is Σx: float32 in 64 lanes within blocks of 8192 elements, float64 across them.
func Sum(x []float32) float64 { return sumBlocks(&sumTab, x) }

// SumSquares is Σx².
func SumSquares(x []float32) float64 { return sumBlocks(&sumSquaresTab, x) }

// Dot is Σxy over len(x) elements.
func Dot(x, y []float32) float64 {
	f := dotTab.pick()
	y = y[:len(x)]
	s := 0.0
	for len(x) > block {
		s += float64(f(x[:block], y[:block]))
		x, y = x[block:], y[block:]
	}
	return s + float64(f(x, y))
}

// Max is the largest element, NaN when there is one, -Inf when x is empty.
func Max(x []float32) float32 {
	f := maxOfTab.pick()
	m := -inf32
	for len(x) > block {
		m = max(m, f(x[:block]))
		x = x[block:]
	}
	return max(m, f(x))
}

// ArgMax is the index of the first largest element; a NaN counts as the largest. It is -1 when
// x is empty.
func ArgMax(x []float32) int {
	m := Max(x)
	for i, v := range x {
		if v == m || v != v {
			return i
		}
	}
	return -1
}

// Finite gives the index of the first element that is NaN or infinite, -1 when there is none.
func Finite(x []float32) int {
	f := nonFiniteTab.pick()
	for at := 0; at < len(x); at += block {
		b := x[at:min(at+block, len(x))]
		if f(b) == 0 {
			continue
		}
		for i, v := range b {
			if v-v != 0 {
				return at + i
			}
		}
	}
	return -1
}

func sumBlocks(t *table[reduce1], x []float32) float64 {
	f := t.pick()
	s := 0.0
	for len(x) > block {
		s += float64(f(x[:block]))
		x = x[block:]
	}
	return s + float64(f(x))
}

func sumGeneric(x []float32) float32 {
	var s [4]float32
	for len(x) >= 4 {
		s[0] += x[0]
		s[1] += x[1]
		s[2] += x[2]
		s[3] += x[3]
		x = x[4:]
	}
	for _, v := range x {
		s[0] += v
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

func sumSquaresGeneric(x []float32) float32 { return dotGeneric(x, x) }

func dotGeneric(x, y []float32) float32 {
	var s [4]float32
	y = y[:len(x)]
	for len(x) >= 4 && len(y) >= 4 {
		s[0] += x[0] * y[0]
		s[1] += x[1] * y[1]
		s[2] += x[2] * y[2]
		s[3] += x[3] * y[3]
		x, y = x[4:], y[4:]
	}
	for i, v := range x {
		s[0] += v * y[i]
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

func maxOfGeneric(x []float32) float32 {
	m := -inf32
	for _, v := range x {
		if v > m || v != v { // nothing is larger than a NaN
			m = v
		}
	}
	return m
}

// nonFiniteGeneric is 0 when all elements are finite, else not.
func nonFiniteGeneric(x []float32) float32 {
	for _, v := range x {
		if v-v != 0 {
			return 1
		}
	}
	return 0
}
