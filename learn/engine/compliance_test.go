package engine_test

import (
	"testing"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/cpu"
	"millrace.dev/learn/engine/enginetest"
)

func TestCPU(t *testing.T) {
	enginetest.Run(t, func(t testing.TB, threads int) engine.Engine {
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
	})
}
