package gemm

import "millrace.dev/internal/cpu"

// Peak performs rounds of independent multiply-adds on vector registers alone and returns how many floating-point
// operations they were: the time they take is the ceiling for every kernel of the current level. It does nothing and
// returns 0 where the level is Generic.
func Peak(rounds int) (flops int) {
	const sums = 12 // as in _asm
	level := cpu.Current()
	switch {
	case rounds < 1:
		return 0
	case level == cpu.AVX512:
		avx512Peak(rounds)
	case level == cpu.AVX2:
		avx2Peak(rounds)
	default:
		return 0
	}
	return rounds * sums * families[level].lanes * 2
}
