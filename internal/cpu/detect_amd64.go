package cpu

import "golang.org/x/sys/cpu"

// detect reads the feature flags, which x/sys/cpu sets only if the operating system saves the registers.
func detect() Level {
	x := cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX2 && x.HasFMA:
		return AVX512
	case x.HasAVX2 && x.HasFMA:
		return AVX2
	}
	return Generic
}
