package clustertest

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Leader waits until one of the servers orders the changes of a stream, and returns that.
func Leader(t *testing.T, nodes []*Node, urls, stream string) *Node {
	t.Helper()
	conn, err := nats.Connect(urls, nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		name := ""
		if name, err = leaderName(js, stream); err != nil {
			continue
		}
		for _, n := range nodes {
			if n.Name == name {
				return n
			}
		}
	}
	t.Fatalf("the stream %s has no leader: %v", stream, err)
	return nil
}

func leaderName(js jetstream.JetStream, stream string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	s, err := js.Stream(ctx, stream)
	if err != nil || s.CachedInfo().Cluster == nil {
		return "", err
	}
	return s.CachedInfo().Cluster.Leader, nil
}
