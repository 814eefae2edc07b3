package cpu

import (
	"fmt"
	"os"
	"sync/atomic"
)

// Level is a set of vector instructions, in rising order of width.
type Level int32

const (
	// Generic is plain Go, on every machine.
	Generic Level = iota
	// AVX2 is 256-bit vectors with fused multiply-add.
	AVX2
	// AVX512 is 512-bit vectors with masks (F, BW, DQ and VL).
	AVX512
)

// Env is the environment variable that forces a level.
const Env = "MILLRACE_CPU"

var names = [...]string{Generic: "generic", AVX2: "avx2", AVX512: "avx512"}

// String returns the level's name as it stands in [Env].
func (l Level) String() string {
	if l < 0 || int(l) >= len(names) {
		return fmt.Sprintf("level(%d)", int32(l))
	}
	return names[l]
}

var (
	current atomic.Int32
	envErr  error
)

func init() {
	level, err := choose(os.Getenv(Env), Best())
	current.Store(int32(level))
	envErr = err
}

// choose returns the level that a value of Env asks for on a machine whose best level is best.
// A value that cannot be honoured gives the best level and an error.
func choose(value string, best Level) (Level, error) {
	if value == "" {
		return best, nil
	}
	for l, name := range names {
		if value != name {
			continue
		}
		if Level(l) > best {
			return best, fmt.Errorf("%s=%s: this machine supports at most %s", Env, value, best)
		}
		return Level(l), nil
	}
	return best, fmt.Errorf("%s=%q is not one of generic, avx2, avx512", Env, value)
}

// Best returns the highest level that the processor and the operating system support.
func Best() Level { return detect() }

// Current returns the level that kernels use now.
func Current() Level { return Level(current.Load()) }

// Err returns why the value of [Env] was not honoured, or nil.
func Err() error { return envErr }

// Levels returns every level that this machine supports, lowest first.
func Levels() []Level {
	all := []Level{Generic, AVX2, AVX512}
	return all[:Best()+1]
}

// Set makes kernels use level, or the best level if the machine lacks it, until the returned function is called.
// It is meant for tests: it acts on the whole process.
func Set(level Level) (restore func()) {
	old := current.Swap(int32(min(max(level, Generic), Best())))
	return func() { current.Store(old) }
}
