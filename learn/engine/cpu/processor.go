package cpu

import "millrace.dev/internal/cpu"

// Processor says which vector instructions the kernels use and what they are tuned to.
type Processor struct {
	Level string `json:"level"` // in use: generic, avx2 or avx512
	Best  string `json:"best"`  // the highest that the machine supports
	L1d   int    `json:"l1d"`   // bytes of the caches that one core sees
	L2    int    `json:"l2"`
	L3    int    `json:"l3"`
}

// ReadProcessor describes this machine. The error says why the level that the environment asks
// for is not used; the description holds all the same.
func ReadProcessor() (Processor, error) {
	caches := cpu.CacheSizes()
	return Processor{
		Level: cpu.Current().String(), Best: cpu.Best().String(),
		L1d: caches.L1d, L2: caches.L2, L3: caches.L3,
	}, cpu.Err()
}
