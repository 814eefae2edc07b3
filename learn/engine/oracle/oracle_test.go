package oracle_test

import (
	"testing"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/enginetest"
	"millrace.dev/learn/engine/oracle"
	"millrace.dev/learn/graph"
)

func TestStructure(t *testing.T) {
	enginetest.Structure(t, func(testing.TB, int) engine.Engine { return oracle.New() })
}

// TestCasesCoverOperations wants every operation of the graph package in some case of the suite,
// so that none is added without a test.
func TestCasesCoverOperations(t *testing.T) {
	elsewhere := map[string]string{"update": "updates", "clip_scale": "updates"}
	seen := map[string]bool{}
	for _, c := range enginetest.Cases() {
		b, err := enginetest.BuildCase(c)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		for _, n := range b.Nodes {
			seen[n.Op] = true
		}
	}
	for _, op := range graph.Ops() {
		def, _ := graph.Lookup(op)
		if !seen[op] && def.Forward == nil && elsewhere[op] == "" {
			t.Errorf("no case uses %q", op)
		}
	}
}

// TestCaseNames wants no name twice: the numbers of a case depend on it.
func TestCaseNames(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range enginetest.Cases() {
		if seen[c.Name] {
			t.Errorf("two cases are named %q", c.Name)
		}
		seen[c.Name] = true
	}
}
