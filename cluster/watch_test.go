package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestWatch(t *testing.T) {
	c := openOwn(t, Config{})
	ctx := patient(t)
	mustCreate(t, c, "jobs.b", "1")
	mustCreate(t, c, "jobs.a", "2")
	mustCreate(t, c, "jobsother", "3")
	gone := mustCreate(t, c, "jobs.gone", "4")
	if err := c.Delete(ctx, "jobs.gone", gone); err != nil {
		t.Fatal(err)
	}
	entries, w, err := c.Watch(ctx, "jobs")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if got := fmt.Sprint(keysOf(entries)); got != "[jobs.a=2 jobs.b=1]" {
		t.Fatalf("found %s", got)
	}

	mustCreate(t, c, "elsewhere", "5")
	revision := mustCreate(t, c, "jobs.c", "6")
	expectChange(t, w, "jobs.c", "6", false)
	if revision, err = c.Swap(ctx, "jobs.c", revision, []byte("7")); err != nil {
		t.Fatal(err)
	}
	expectChange(t, w, "jobs.c", "7", false)
	if err := c.Delete(ctx, "jobs.c", revision); err != nil {
		t.Fatal(err)
	}
	expectChange(t, w, "jobs.c", "", true)

	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := w.Next(ended); !errors.Is(err, context.Canceled) {
		t.Fatalf("a context that ended: %v", err)
	}
	c.Close()
	if _, err := w.Next(ctx); !errors.Is(err, ErrClosed) {
		t.Fatalf("a closed cluster: %v", err)
	}
}

// TestWatchOfMany watches more changes than one buffer or one record's history holds.
func TestWatchOfMany(t *testing.T) {
	c := openOwn(t, Config{})
	ctx := patient(t)
	_, w, err := c.Watch(ctx, "many")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	const records = 3*watchBuffer + 1
	for i := range records {
		mustCreate(t, c, fmt.Sprintf("many.%d", i), fmt.Sprint(i))
	}
	for i := range records {
		expectChange(t, w, fmt.Sprintf("many.%d", i), fmt.Sprint(i), false)
	}

	revision := mustCreate(t, c, "many.last", "0")
	for i := range 2 * history {
		if revision, err = c.Swap(ctx, "many.last", revision, fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	for last := uint64(0); last < revision; { // whatever was skipped, the newest is seen
		change, err := w.Next(ctx)
		if err != nil || change.Revision <= last {
			t.Fatalf("%+v after revision %d, %v", change, last, err)
		}
		last = change.Revision
	}
}

func mustCreate(t *testing.T, c *Cluster, key, value string) uint64 {
	t.Helper()
	revision, err := c.Create(patient(t), key, []byte(value))
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

func expectChange(t *testing.T, w *Watch, key, value string, deleted bool) {
	t.Helper()
	got, err := w.Next(patient(t))
	if err != nil || got.Key != key || string(got.Value) != value || got.Deleted != deleted {
		t.Fatalf("change %s=%s deleted %v, %v; want %s=%s deleted %v", got.Key, got.Value, got.Deleted, err, key, value, deleted)
	}
}

func keysOf(entries []Entry) (all []string) {
	for _, e := range entries {
		all = append(all, fmt.Sprintf("%s=%s", e.Key, e.Value))
	}
	return all
}
