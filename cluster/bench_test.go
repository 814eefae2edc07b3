package cluster

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// BenchmarkSwap is a change of one record on a server of our own, which calls
// fsync before it answers, and on one that does not.
func BenchmarkSwap(b *testing.B) {
	b.Run("fsync", func(b *testing.B) { benchmarkSwap(b, Config{Dir: b.TempDir()}) })
	b.Run("lazy", func(b *testing.B) {
		s, err := server.NewServer(&server.Options{
			Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: b.TempDir(), NoLog: true, NoSigs: true,
		})
		if err != nil {
			b.Fatal(err)
		}
		s.Start()
		defer s.WaitForShutdown()
		defer s.Shutdown()
		benchmarkSwap(b, Config{URL: s.ClientURL()})
	})
}

func benchmarkSwap(b *testing.B, config Config) {
	c, err := Open(b.Context(), config)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	revision, err := c.Create(b.Context(), "view", make([]byte, 256))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if revision, err = c.Swap(b.Context(), "view", revision, make([]byte, 256)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGet reads a record from one server.
func BenchmarkGet(b *testing.B) {
	c, err := Open(b.Context(), Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Create(b.Context(), "view", make([]byte, 256)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := c.Get(b.Context(), "view"); err != nil {
			b.Fatal(err)
		}
	}
}
