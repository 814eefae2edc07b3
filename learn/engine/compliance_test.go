package engine_test

import (
	"maps"
	"testing"

	vector "millrace.dev/internal/cpu"
	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/cpu"
	"millrace.dev/learn/engine/enginetest"
)

// levels lists the vector levels to test: all that the machine has, the one in use in short runs.
func levels() []vector.Level {
	if testing.Short() {
		return []vector.Level{vector.Current()}
	}
	return vector.Levels()
}

func newCPU(t testing.TB, threads int) engine.Engine {
	t.Helper()
	e, err := cpu.New(threads)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func TestCPU(t *testing.T) {
	for _, level := range levels() {
		t.Run(level.String(), func(t *testing.T) {
			defer vector.Set(level)()
			enginetest.Run(t, newCPU)
		})
	}
}

// TestVectorLevelsAgree trains the same nets with narrow and with wide vectors.
func TestVectorLevelsAgree(t *testing.T) {
	prints := map[vector.Level]map[string]uint64{}
	for _, level := range levels() {
		restore := vector.Set(level)
		prints[level] = enginetest.Fingerprint(t, newCPU(t, 2))
		restore()
	}
	narrow, wide := prints[vector.AVX2], prints[vector.AVX512]
	if narrow != nil && wide != nil && !maps.Equal(narrow, wide) {
		t.Errorf("AVX2 trains to %x, AVX-512 to %x", narrow, wide)
	}
}
