package data

// Rand is a small random generator that starts from what a choice is for, so that the
// choice never depends on who makes it or when. It is SplitMix64 (Steele, Lea and Flood,
// "Fast splittable pseudorandom number generators", OOPSLA 2014, figure 16) started from
// a hash of the key. The zero value is ready for use too.
type Rand struct{ state uint64 }

// gamma is 2⁶⁴ over the golden ratio, SplitMix64's odd step.
const gamma = 0x9e3779b97f4a7c15

// NewRand keys a generator by the run's seed, the epoch, the sample's index in the data
// set, and the purpose of the choice.
func NewRand(seed, epoch, index, purpose uint64) Rand {
	h := mix(seed + gamma)
	h = mix(h ^ (epoch + gamma))
	h = mix(h ^ (index + gamma))
	return Rand{state: mix(h ^ (purpose + gamma))}
}

// mix is SplitMix64's finaliser, a bijection of the 64-bit words.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Uint64 gives 64 random bits.
func (r *Rand) Uint64() uint64 {
	r.state += gamma
	return mix(r.state)
}

// IntN gives a number from 0 to n-1; n is positive. Its bias is below n/2³².
func (r *Rand) IntN(n int) int {
	return int(reduce(r.Uint64(), uint64(n)))
}

// Float32 gives a number from 0 up to, not including, 1.
func (r *Rand) Float32() float32 {
	return float32(r.Uint64()>>40) * (1.0 / (1 << 24))
}

// Between gives a number from -limit to limit.
func (r *Rand) Between(limit float32) float32 {
	return (2*r.Float32() - 1) * limit
}

// purposeKey turns the name of a purpose into a key (FNV-1a).
func purposeKey(name string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 0x100000001b3
	}
	return h
}
