package cluster

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"millrace.dev/cluster/clustertest"
)

func TestMain(m *testing.M) {
	clustertest.Main()
	goleak.VerifyTestMain(m)
}

// patient is a deadline that only a hang reaches.
func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// openOwn opens a cluster on a server of our own.
func openOwn(t *testing.T, config Config) *Cluster {
	t.Helper()
	if config.Dir == "" {
		config.Dir = t.TempDir()
	}
	c, err := Open(patient(t), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
