package vec

import "math"

// Normal sets dst[i] to the normally distributed number of element first+i, by the transform of Box
// and Muller (1958) of 24-bit numbers: none is farther than 5.9 deviations from the mean. The
// arithmetic is float32 without fused operations, so every machine gives the same numbers.
func Normal(dst []float32, key RandKey, first int, mean, std float32) {
	head, whole := split(first, len(dst))
	normalSome(dst[:head], key, first, mean, std)
	f := normalTab.pick()
	for at := head; at < head+whole; at += block {
		end := min(at+block, head+whole)
		f(dst[at:end], uint32((first+at)/group*16), key.Layer, uint32(key.Step), uint32(key.Step>>32),
			uint32(key.Seed), uint32(key.Seed>>32), mean, std)
	}
	at := head + whole
	normalSome(dst[at:], key, first+at, mean, std)
}

func normalSome(dst []float32, key RandKey, first int, mean, std float32) {
	for i := range dst {
		w, place := key.words(first + i)
		z := normalPair(w[place&^1], w[place|1])
		dst[i] = madd(z[place&1], std, mean)
	}
}

func normalGeneric(dst []float32, first, layer, step0, step1, key0, key1 uint32, mean, std float32) {
	for at := 0; at < len(dst); at += group {
		for lane := range 16 {
			w := philox([4]uint32{first + uint32(at/group*16+lane), layer, step0, step1}, key0, key1)
			a, b := normalPair(w[0], w[1]), normalPair(w[2], w[3])
			for k, z := range [4]float32{a[0], a[1], b[0], b[1]} {
				dst[at+16*k+lane] = madd(z, std, mean)
			}
		}
	}
}

// madd is a·b + c rounded twice: the conversion keeps the compiler from fusing.
func madd(a, b, c float32) float32 { return float32(a*b) + c }

// normalPair turns two random words into two independent standard normal numbers.
func normalPair(w0, w1 uint32) [2]float32 {
	u := float32(float32(float32(w0>>8)+0.5) * 0x1p-24) // never 0
	r := float32(math.Sqrt(float64(-2 * logUnit(u))))
	v := float32(w1>>8) * 0x1p-22 // quarter turns
	q := float32(math.RoundToEven(float64(v)))
	sin, cos := sincosQuarter(float32(v - q))
	quarter := int32(q)
	if quarter&1 != 0 {
		sin, cos = cos, sin
	}
	if quarter&2 != 0 {
		sin = -sin
	}
	if (quarter+1)&2 != 0 {
		cos = -cos
	}
	return [2]float32{r * cos, r * sin}
}

// sincosQuarter gives sine and cosine of |f| ≤ ½ quarter turns (polynomials after Cephes).
func sincosQuarter(f float32) (sin, cos float32) {
	x := float32(f * (math.Pi / 2))
	z := float32(x * x)
	p := float32(-1.9515295891e-4)
	p = madd(p, z, 8.3321608736e-3)
	p = madd(p, z, -1.6666654611e-1)
	sin = madd(float32(p*z), x, x)
	p = 2.443315711809948e-5
	p = madd(p, z, -1.388731625493765e-3)
	p = madd(p, z, 4.166664568298827e-2)
	p = float32(float32(p*z) * z)
	return sin, float32(p-float32(z*0.5)) + 1
}

// logUnit is log32 of a normal number, with every product rounded before it is added.
func logUnit(x float32) float32 {
	b := math.Float32bits(x)
	e := int32(b-sqrtHlf) >> 23
	m := math.Float32frombits(b-uint32(e)<<23) - 1
	p := float32(7.0376836292e-2)
	p = madd(p, m, -1.1514610310e-1)
	p = madd(p, m, 1.1676998740e-1)
	p = madd(p, m, -1.2420140846e-1)
	p = madd(p, m, 1.4249322787e-1)
	p = madd(p, m, -1.6668057665e-1)
	p = madd(p, m, 2.0000714765e-1)
	p = madd(p, m, -2.4999993993e-1)
	p = madd(p, m, 3.3333331174e-1)
	z := float32(m * m)
	y := madd(float32(e), ln2Lo, float32(float32(p*m)*z))
	y = m + (y - float32(z*0.5))
	return madd(float32(e), ln2Hi, y)
}
