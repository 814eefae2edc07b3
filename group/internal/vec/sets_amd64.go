package vec

import "millrace.dev/internal/cpu"

var sets = [cpu.AVX512 + 1]set{
	cpu.Generic: generic,
	cpu.AVX2:    {weightedSumAVX2, weightedMeanAVX2, scaledAVX2, streamAVX2},
	cpu.AVX512:  {weightedSumAVX512, weightedMeanAVX512, scaledAVX512, streamAVX512},
}
