package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"millrace.dev/cluster/clustertest"
	"millrace.dev/internal/freeport"
)

func TestRecordsOfOneServer(t *testing.T) {
	dir := t.TempDir()
	c := openOwn(t, Config{Dir: dir})
	checkRecords(t, c)
	if _, err := Open(patient(t), Config{Dir: dir}); err == nil {
		t.Fatal("two servers share a directory")
	}
	if said := c.Durability(); !strings.Contains(said, "fsync before each answer") || !c.own.JetStreamConfig().SyncAlways {
		t.Errorf("%q: the server's setting is %+v", said, c.own.JetStreamConfig())
	}
	revision, err := c.Create(patient(t), "kept", []byte("value"))
	if err != nil {
		t.Fatal(err)
	}
	c.Close()

	again := openOwn(t, Config{Dir: dir})
	e, err := again.Get(patient(t), "kept")
	if err != nil || e.Revision != revision || string(e.Value) != "value" {
		t.Fatalf("after a restart: %+v, %v", e, err)
	}
	if _, err := c.Get(patient(t), "kept"); !errors.Is(err, ErrClosed) {
		t.Fatalf("a closed cluster answers %v", err)
	}
}

// checkRecords goes through what a record can meet.
func checkRecords(t *testing.T, c *Cluster) {
	t.Helper()
	ctx := patient(t)
	if _, err := c.Get(ctx, "jobs.a"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("no record: %v", err)
	}
	var conflict *ConflictError
	if _, err := c.Swap(ctx, "jobs.a", 7, nil); !errors.As(err, &conflict) || conflict.Current.Revision != 0 {
		t.Fatalf("swap without a record: %v", err)
	}
	for round := range 3 { // made, replaced and removed again and again
		first, err := c.Create(ctx, "jobs.a", []byte("one"))
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if _, err := c.Create(ctx, "jobs.a", []byte("two")); !errors.As(err, &conflict) || string(conflict.Current.Value) != "one" {
			t.Fatalf("made twice: %v", err)
		}
		second, err := c.Swap(ctx, "jobs.a", first, []byte("two"))
		if err != nil || second <= first {
			t.Fatalf("%d after %d: %v", second, first, err)
		}
		_, err = c.Swap(ctx, "jobs.a", first, []byte("three"))
		want := ConflictError{"jobs.a", first, Entry{"jobs.a", []byte("two"), second}}
		if !errors.As(err, &conflict) || conflict.Expected != want.Expected ||
			conflict.Current.Revision != second || !bytes.Equal(conflict.Current.Value, want.Current.Value) {
			t.Fatalf("conflict %v, want %v", err, &want)
		}
		if e, err := c.Get(ctx, "jobs.a"); err != nil || e.Revision != second || string(e.Value) != "two" {
			t.Fatalf("%+v, %v", e, err)
		}
		if err := c.Delete(ctx, "jobs.a", first); !errors.As(err, &conflict) {
			t.Fatalf("removal at an old revision: %v", err)
		}
		if err := c.Delete(ctx, "jobs.a", second); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Get(ctx, "jobs.a"); !errors.Is(err, ErrNotFound) {
			t.Fatalf("after the removal: %v", err)
		}
	}
}

func TestManyIncrementOneRecord(t *testing.T) {
	c := openOwn(t, Config{})
	ctx := patient(t)
	const workers, each = 4, 10
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for range each {
				if err := increment(ctx, c, "count"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if e, err := c.Get(ctx, "count"); err != nil || string(e.Value) != fmt.Sprint(workers*each) {
		t.Fatalf("%s, %v", e.Value, err)
	}
}

func increment(ctx context.Context, c *Cluster, key string) error {
	e := Entry{Value: []byte("0")}
	for {
		var n int
		if _, err := fmt.Sscan(string(e.Value), &n); err != nil {
			return err
		}
		_, err := c.Swap(ctx, key, e.Revision, fmt.Append(nil, n+1))
		var conflict *ConflictError
		if !errors.As(err, &conflict) {
			return err
		}
		e = conflict.Current
	}
}

func TestRefusals(t *testing.T) {
	c := openOwn(t, Config{})
	for _, key := range []string{"", "_members.a", ".", "a..b", "a.", "a b", "a*", "a.>", string(make([]byte, 300))} {
		_, createErr := c.Create(patient(t), key, nil)
		_, getErr := c.Get(patient(t), key)
		_, _, watchErr := c.Watch(patient(t), key)
		for _, err := range []error{createErr, getErr, watchErr} {
			var bad *KeyError
			if !errors.As(err, &bad) {
				t.Errorf("key %q: %v", key, err)
			}
		}
	}
	if _, err := c.Create(patient(t), "large", make([]byte, maxValue+1)); err == nil {
		t.Error("a value that is too large was kept")
	}
	if _, err := c.Create(patient(t), "largest", make([]byte, maxValue)); err != nil {
		t.Error(err)
	}
}

// TestUnknownOutcome cuts the server off in the middle of a change.
func TestUnknownOutcome(t *testing.T) {
	nodes, urls := clustertest.Start(t, 1)
	c, err := Open(patient(t), Config{URL: urls})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	revision, err := c.Create(patient(t), "view", []byte("1"))
	if err != nil {
		t.Fatal(err)
	}
	nodes[0].Freeze(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err = c.Swap(ctx, "view", revision, []byte("2"))
	var unknown *UnknownError
	if !errors.As(err, &unknown) || unknown.Key != "view" || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a change without an answer: %v", err)
	}
	short, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.Get(short, "view"); !errors.Is(err, ErrUnavailable) {
		t.Fatalf("a read without an answer: %v", err)
	}
	nodes[0].Thaw(t)

	// The change was sent, so it was made once the server went on: forcing it
	// again finds that out.
	var conflict *ConflictError
	if _, err = c.Swap(patient(t), "view", revision, []byte("3")); !errors.As(err, &conflict) || string(conflict.Current.Value) != "2" {
		t.Fatalf("the second change with one revision: %v", err)
	}
}

func TestUnavailable(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	url := fmt.Sprintf("nats://127.0.0.1:%d", freeport.Find(t, 1))
	if _, err := Open(ctx, Config{URL: url}); !errors.Is(err, ErrUnavailable) {
		t.Fatalf("nobody listens: %v", err)
	}
}

func TestPermanent(t *testing.T) {
	api := func(code int, errorCode jetstream.ErrorCode) error {
		return fmt.Errorf("nats: %w", &jetstream.APIError{Code: code, ErrorCode: errorCode})
	}
	for _, c := range []struct {
		err   error
		tried time.Duration
		want  bool
	}{
		{context.DeadlineExceeded, time.Hour, false},
		{api(503, 10008), time.Hour, false},                              // the servers are still starting
		{api(400, codeNoPeers), time.Second, false},                      // or do not know of each other
		{api(400, codeNoPeers), gathering, true},                         // there are too few
		{api(400, jetstream.JSErrCodeStreamNameInUse), time.Hour, false}, // another client was faster
		{api(400, jetstream.JSErrCodeJetStreamNotEnabledForAccount), 0, true},
	} {
		if got := permanent(c.err, c.tried); got != c.want {
			t.Errorf("%v after %v: %t", c.err, c.tried, got)
		}
	}
}
