package enginetest

import (
	"testing"

	"millrace.dev/learn/engine"
)

// Maker makes an engine that runs on the given number of threads.
type Maker func(t testing.TB, threads int) engine.Engine

// Run tests everything an engine promises.
func Run(t *testing.T, mk Maker) {
	e := mk(t, 2)
	t.Run("ops", func(t *testing.T) { testOps(t, e) })
}
