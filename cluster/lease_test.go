package cluster

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"millrace.dev/cluster/clustertest"
)

func TestMembers(t *testing.T) {
	c := openOwn(t, Config{})
	ctx := patient(t)
	none, w, err := c.WatchMembers(ctx)
	if err != nil || len(none) != 0 {
		t.Fatal(none, err)
	}
	defer w.Close()

	first, err := c.Join(ctx, "host.one", []byte("addr"), MinTTL)
	if err != nil {
		t.Fatal(err)
	}
	expectMember(t, w, MemberChange{Member: Member{"host.one", []byte("addr"), first.Incarnation()}})

	// A process that comes back replaces its former self.
	second, err := c.Join(ctx, "host.one", []byte("elsewhere"), MinTTL)
	if err != nil || second.Incarnation() <= first.Incarnation() {
		t.Fatal(err)
	}
	expectMember(t, w, MemberChange{Member: Member{"host.one", []byte("addr"), first.Incarnation()}, Left: true})
	expectMember(t, w, MemberChange{Member: Member{"host.one", []byte("elsewhere"), second.Incarnation()}})
	<-first.Lost()
	var replaced *ReplacedError
	if err := first.Err(); !errors.As(err, &replaced) || replaced.By != second.Incarnation() {
		t.Fatalf("the former self: %v", err)
	}
	if err := first.Leave(ctx); err != nil {
		t.Fatal(err)
	}
	members, err := c.Members(ctx)
	if err != nil || len(members) != 1 || members[0].Incarnation != second.Incarnation() {
		t.Fatalf("%+v, %v", members, err)
	}

	if err := second.Leave(ctx); err != nil {
		t.Fatal(err)
	}
	expectMember(t, w, MemberChange{Member: Member{"host.one", []byte("elsewhere"), second.Incarnation()}, Left: true})
	if members, err := c.Members(ctx); err != nil || len(members) != 0 {
		t.Fatalf("%+v, %v", members, err)
	}
}

// TestLeaseExpires lets a member's process die: it says nothing any more.
func TestLeaseExpires(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a lease to end")
	}
	t.Parallel()
	nodes, urls := clustertest.Start(t, 1)
	watcher, err := Open(patient(t), Config{URL: urls})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	_, w, err := watcher.WatchMembers(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	dying, err := Open(patient(t), Config{URL: urls})
	if err != nil {
		t.Fatal(err)
	}
	lease, err := dying.Join(patient(t), "a", nil, MinTTL)
	if err != nil {
		t.Fatal(err)
	}
	staying, err := watcher.Join(patient(t), "b", nil, MinTTL)
	if err != nil {
		t.Fatal(err)
	}
	expectMember(t, w, MemberChange{Member: Member{"a", nil, lease.Incarnation()}})
	expectMember(t, w, MemberChange{Member: Member{"b", nil, staying.Incarnation()}})
	dying.Close()
	<-lease.Lost()
	if !errors.Is(lease.Err(), ErrClosed) {
		t.Fatal(lease.Err())
	}
	expectMember(t, w, MemberChange{Member: Member{"a", nil, lease.Incarnation()}, Left: true, Expired: true})
	select {
	case <-staying.Lost():
		t.Fatalf("a lease that is renewed was lost: %v", staying.Err())
	default:
	}

	// The holder gives a lease up when it cannot be renewed.
	nodes[0].Freeze(t)
	<-staying.Lost()
	if !errors.Is(staying.Err(), ErrExpired) {
		t.Fatal(staying.Err())
	}
	nodes[0].Thaw(t)
}

func TestJoinRefusals(t *testing.T) {
	c := openOwn(t, Config{})
	for _, j := range []struct {
		name  string
		value []byte
		ttl   time.Duration
	}{
		{"", nil, MinTTL},
		{"a b", nil, MinTTL},
		{"a", nil, time.Second},
		{"a", nil, 2500 * time.Millisecond},
		{"a", make([]byte, maxValue+1), MinTTL},
	} {
		if _, err := c.Join(patient(t), j.name, j.value, j.ttl); err == nil {
			t.Errorf("%q with %d bytes joined for %v", j.name, len(j.value), j.ttl)
		}
	}
}

func expectMember(t *testing.T, w *MemberWatch, want MemberChange) {
	t.Helper()
	got, err := w.Next(patient(t))
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("change %+v, %v; want %+v", got, err, want)
	}
}
