package enginetest

import (
	"testing"

	"millrace.dev/learn/engine"
)

// Maker makes an engine that runs on the given number of threads, to be closed at the test's end.
type Maker func(t testing.TB, threads int) engine.Engine

// Run tests everything that an engine promises.
func Run(t *testing.T, mk Maker) {
	Structure(t, mk)
	e := mk(t, 2)
	for _, s := range []scenario{
		{"operations", testOps},
		{"odd numbers", testOddities},
		{"denormals", testDenormals},
		{"updates", testUpdates},
		{"zero norm", testZeroNorm},
		{"nets", testNets},
		{"random graphs", testRandom},
		{"no allocation", testAllocations},
	} {
		t.Run(s.name, func(t *testing.T) { s.test(t, e) })
	}
	t.Run("threads", func(t *testing.T) { testThreads(t, mk) })
}

// Structure tests what an engine promises beside the numbers themselves, threads and memory.
func Structure(t *testing.T, mk Maker) {
	e := mk(t, 2)
	for _, s := range []scenario{
		{"split steps", testSplit},
		{"changed gradients", testChangedGradients},
		{"late values", testLateValues},
		{"buckets", testBuckets},
		{"unsplit programs", testUnsplit},
		{"replicas at once", testReplicas},
		{"evaluation", testEvaluation},
		{"shared gradients", testShared},
		{"custom operations", testCustom},
		{"indices out of range", testBadIndices},
		{"not finite", testNotFinite},
		{"trace", testTrace},
		{"refusals", testRefusals},
		{"description", testDescription},
	} {
		t.Run(s.name, func(t *testing.T) { s.test(t, e) })
	}
}

type scenario struct {
	name string
	test func(*testing.T, engine.Engine)
}
