package vec

import "golang.org/x/sys/cpu"

// sets lists the levels of this machine, lowest first.
func sets() []set {
	all := []set{generic}
	if x := cpu.X86; x.HasAVX2 {
		all = append(all, set{"avx2", weightedSumAVX2, weightedMeanAVX2, scaledAVX2})
		if x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasBMI2 {
			all = append(all, set{"avx512", weightedSumAVX512, weightedMeanAVX512, scaledAVX512})
		}
	}
	return all
}
