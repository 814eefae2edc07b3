package oracle_test

import (
	"testing"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/enginetest"
	"millrace.dev/learn/engine/oracle"
)

func TestStructure(t *testing.T) {
	enginetest.Structure(t, func(testing.TB, int) engine.Engine { return oracle.New() })
}
