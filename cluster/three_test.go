package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/nats-io/nats.go"

	"millrace.dev/cluster/clustertest"
)

// TestKilledServer kills the server that orders the changes, under load.
func TestKilledServer(t *testing.T) {
	underLoad(t, func(l *load, victim *clustertest.Node) {
		victim.Kill()
		l.await(t, 20)
		victim.Start(t)
	})
}

// TestFrozenServer stops the server that orders the changes for a while: when it
// goes on it still believes that it does.
func TestFrozenServer(t *testing.T) {
	underLoad(t, func(l *load, victim *clustertest.Node) {
		victim.Freeze(t)
		l.await(t, 20)
		victim.Thaw(t)
	})
}

// TestRefusalBesideAcceptance has each change refused by one more server, as one
// does that stood still and takes itself for the leader yet, and replaced at once
// by another client: a change that was made is no conflict.
func TestRefusalBesideAcceptance(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers")
	}
	t.Parallel()
	_, urls := clustertest.Start(t, 3)
	open := func() *Cluster {
		c, err := Open(patient(t), Config{URL: urls})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	ours, theirs := open(), open()
	_, err := theirs.conn.Subscribe(ours.subjects+"contested", func(m *nats.Msg) {
		if string(m.Data) == "ours" {
			_ = m.Respond([]byte(`{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 1"}}`)) // fails with the connection
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	_, w, err := theirs.Watch(patient(t), "contested")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := theirs.conn.Flush(); err != nil {
		t.Fatal(err)
	}
	revision := uint64(0)
	for round := range 40 {
		made, ctx := make(chan error, 1), patient(t)
		go func(revision uint64) {
			_, err := ours.Swap(ctx, "contested", revision, []byte("ours"))
			made <- err
		}(revision)
		if revision, err = replace(patient(t), theirs, w); err != nil {
			t.Fatal(err)
		}
		if err := <-made; err != nil {
			t.Fatalf("round %d: a change that was made: %v", round, err)
		}
	}
}

// replace replaces the next change that a watch reports.
func replace(ctx context.Context, c *Cluster, w *Watch) (uint64, error) {
	for {
		change, err := w.Next(ctx)
		if err != nil {
			return 0, err
		}
		if string(change.Value) == "ours" {
			return c.Swap(ctx, change.Key, change.Revision, []byte("theirs"))
		}
	}
}

// underLoad does something to the leader of three servers while clients read and
// change records, and checks that the history of all calls is linearizable, that
// a watch saw every change of it, and that a lease outlived it all.
func underLoad(t *testing.T, disturb func(*load, *clustertest.Node)) {
	if testing.Short() {
		t.Skip("starts and kills servers")
	}
	t.Parallel()
	nodes, urls := clustertest.Start(t, 3)
	c, err := Open(patient(t), Config{URL: urls})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if c.replicas != 3 {
		t.Fatalf("%d replicas: %s", c.replicas, c.Durability())
	}
	checkRecords(t, c)
	lease, err := c.Join(patient(t), "stays", nil, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	_, w, err := c.Watch(patient(t), "load")
	if err != nil {
		t.Fatal(err)
	}
	saw := watchAll(t, w)

	load := startLoad(t, urls, 4, []string{"load.x", "load.y"})
	load.await(t, 20)
	disturb(load, clustertest.Leader(t, nodes, urls, c.stream))
	load.await(t, 20)
	load.stop()

	result, info := porcupine.CheckOperationsVerbose(model, load.history, time.Minute)
	if result != porcupine.Ok {
		path := filepath.Join(os.TempDir(), t.Name()+".html")
		t.Fatalf("history of %d calls: %s; picture in %s (%v)", len(load.history), result, path,
			porcupine.VisualizePath(model, info, path))
	}
	checkWatched(t, saw, load.history)
	if err := lease.Err(); err != nil {
		t.Fatalf("the lease ended: %v", err)
	}
	if err := lease.Leave(patient(t)); err != nil {
		t.Fatal(err)
	}
}

// load is a number of clients that read and change the same records.
type load struct {
	cancel context.CancelFunc
	wait   sync.WaitGroup
	done   atomic.Int64 // changes that were acknowledged

	mu      sync.Mutex
	history []porcupine.Operation
}

// call is what a client asked, and answer what it was told. Values are unique.
type call struct {
	key      string
	swap     bool
	from, to string // of a swap: it replaces from, which is empty for no record
}

type answer struct {
	value   string // as read, or as found in place of from
	swapped bool
	unknown bool
}

func startLoad(t *testing.T, urls string, clients int, keys []string) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{cancel: cancel}
	t.Cleanup(l.stop)
	start := time.Now()
	for client := range clients {
		c, err := Open(patient(t), Config{URL: urls})
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, uint64(client)))
		l.wait.Go(func() {
			defer c.Close()
			for i := 0; ctx.Err() == nil; i++ {
				key := keys[random.IntN(len(keys))]
				l.step(c, client, key, fmt.Sprintf("%d.%d", client, i), start)
				pause(ctx, time.Duration(random.IntN(20))*time.Millisecond)
			}
		})
	}
	return l
}

// step reads a record and replaces what it read.
func (l *load) step(c *Cluster, client int, key, value string, start time.Time) {
	began := time.Since(start)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	e, err := c.Get(ctx, key)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return // a read that failed says nothing
	}
	l.record(client, call{key: key}, answer{value: string(e.Value)}, began, time.Since(start))

	began = time.Since(start)
	short, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err = c.Swap(short, key, e.Revision, []byte(value))
	end := time.Since(start)
	got := answer{swapped: err == nil}
	var conflict *ConflictError
	switch {
	case err == nil:
		l.done.Add(1)
	case errors.As(err, &conflict):
		got.value = string(conflict.Current.Value)
	case errors.Is(err, ErrUnavailable):
		return // not done
	default:
		got.unknown = true
		end = 1 << 62 // it may still be done
	}
	l.record(client, call{key, true, string(e.Value), value}, got, began, end)
}

func (l *load) record(client int, in call, out answer, began, end time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.history = append(l.history, porcupine.Operation{
		ClientId: client, Input: in, Call: began.Nanoseconds(), Output: out, Return: end.Nanoseconds(),
	})
}

// await waits for so many more changes.
func (l *load) await(t *testing.T, changes int64) {
	t.Helper()
	defer func(began time.Time) { t.Logf("%d changes in %v", changes, time.Since(began)) }(time.Now())
	for goal, ctx := l.done.Load()+changes, patient(t); l.done.Load() < goal; {
		if !pause(ctx, 10*time.Millisecond) {
			t.Fatal("the load does not go on")
		}
	}
}

func (l *load) stop() {
	l.cancel()
	l.wait.Wait()
}

// model is one record at a time: its state is its value.
var model = (&porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := map[string][]porcupine.Operation{}
		for _, o := range history {
			key := o.Input.(call).key
			parts[key] = append(parts[key], o)
		}
		var all [][]porcupine.Operation
		for _, part := range parts {
			all = append(all, part)
		}
		return all
	},
	Init: func() []any { return []any{""} },
	Step: func(state, input, output any) []any {
		value, in, out := state.(string), input.(call), output.(answer)
		switch {
		case !in.swap && out.value == value, // a read
			in.swap && !out.swapped && !out.unknown && value != in.from && value == out.value: // a conflict
			return []any{value}
		case in.swap && out.swapped && value == in.from:
			return []any{in.to}
		case in.swap && out.unknown && value == in.from:
			return []any{value, in.to}
		case in.swap && out.unknown:
			return []any{value}
		}
		return nil
	},
}).ToModel()

// watchAll reads a watch, beside the load: it must not fall 64 changes behind.
func watchAll(t *testing.T, w *Watch) <-chan Change {
	saw := make(chan Change, 1<<16)
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() {
		defer w.Close()
		for {
			change, err := w.Next(ctx)
			if err != nil {
				if ctx.Err() == nil {
					t.Error(err)
				}
				return
			}
			saw <- change
		}
	})
	t.Cleanup(func() { cancel(); wait.Wait() })
	return saw
}

// checkWatched compares what a watch reports with the acknowledged changes.
func checkWatched(t *testing.T, saw <-chan Change, history []porcupine.Operation) {
	t.Helper()
	want, known := map[string]bool{}, map[string]bool{}
	for _, o := range history {
		if in, out := o.Input.(call), o.Output.(answer); in.swap {
			known[in.to] = true
			if out.swapped {
				want[in.to] = true
			}
		}
	}
	t.Logf("%d calls, %d changes", len(history), len(want))
	for last, ctx := uint64(0), patient(t); len(want) > 0; {
		select {
		case change := <-saw:
			if change.Revision <= last || !known[string(change.Value)] {
				t.Fatalf("saw %+v after revision %d", change, last)
			}
			last = change.Revision
			delete(want, string(change.Value))
		case <-ctx.Done():
			t.Fatalf("%d changes were not seen", len(want))
		}
	}
}

// TestModel makes sure that the checker finds faults.
func TestModel(t *testing.T) {
	read := func(value string, began, end int64) porcupine.Operation {
		return porcupine.Operation{ClientId: 0, Input: call{key: "k"}, Output: answer{value: value}, Call: began, Return: end}
	}
	swap := func(from, to string, out answer, began, end int64) porcupine.Operation {
		return porcupine.Operation{ClientId: 1, Input: call{"k", true, from, to}, Output: out, Call: began, Return: end}
	}
	made := answer{swapped: true}
	for i, c := range []struct {
		history []porcupine.Operation
		ok      bool
	}{
		{[]porcupine.Operation{swap("", "a", made, 0, 1), read("a", 2, 3)}, true},
		{[]porcupine.Operation{swap("", "a", made, 0, 1), read("", 2, 3)}, false}, // a stale read
		{[]porcupine.Operation{swap("", "a", made, 0, 3), read("", 1, 2)}, true},
		{[]porcupine.Operation{swap("", "a", made, 0, 1), swap("", "b", made, 2, 3)}, false}, // two winners
		{[]porcupine.Operation{swap("", "a", answer{unknown: true}, 0, 1<<62), read("", 2, 3), read("a", 4, 5)}, true},
		{[]porcupine.Operation{swap("", "a", answer{unknown: true}, 0, 1<<62), read("a", 2, 3), read("", 4, 5)}, false},
		{[]porcupine.Operation{swap("", "a", answer{value: ""}, 0, 1)}, false}, // a conflict with nobody
	} {
		if ok := porcupine.CheckOperations(model, c.history); ok != c.ok {
			t.Errorf("history %d: %v", i, ok)
		}
	}
}
