package control

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func mark(point uint64) Record { return Record{Mark: &Mark{Point: point}} }

func TestFollowerReadsInOrder(t *testing.T) {
	r := newRing(4)
	f := &Follower{ring: r}
	dst := make([]Record, 3)
	for i := range uint64(4) {
		r.add(mark(i))
	}
	var got []uint64
	for range 2 {
		n, lost, err := f.Next(context.Background(), dst)
		if err != nil || lost != 0 {
			t.Fatalf("lost %d, %v", lost, err)
		}
		for _, record := range dst[:n] {
			got = append(got, record.point())
		}
	}
	if fmt.Sprint(got) != "[0 1 2 3]" {
		t.Errorf("got %v", got)
	}
}

func TestSlowFollowerIsToldWhatItLost(t *testing.T) {
	r := newRing(4)
	f := &Follower{ring: r}
	for i := range uint64(10) {
		r.add(mark(i))
	}
	dst := make([]Record, 10)
	n, lost, err := f.Next(context.Background(), dst)
	if err != nil || n != 4 || lost != 6 || dst[0].point() != 6 {
		t.Errorf("n %d, lost %d, first %d, %v", n, lost, dst[0].point(), err)
	}
}

func TestFollowerEnds(t *testing.T) {
	defer goleak.VerifyNone(t)
	j := NewJournal()
	f := j.Follow()
	if err := j.append(mark(1), false); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	dst := make([]Record, 1)
	if n, _, err := f.Next(context.Background(), dst); n != 1 || err != nil {
		t.Errorf("%d records, %v before the end", n, err)
	}
	if _, _, err := f.Next(context.Background(), dst); !Closed(err) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	waiting := make(chan error)
	live := NewJournal().Follow()
	go func() {
		_, _, err := live.Next(ctx, dst)
		waiting <- err
	}()
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) || Closed(err) {
		t.Errorf("got %v", err)
	}
}

// TestFollowersAndWriters lets several writers and followers of different
// speeds meet: what a follower reads and what it lost add up to everything.
func TestFollowersAndWriters(t *testing.T) {
	const writers, each = 4, 5000
	j := NewJournal()
	var readers, writing sync.WaitGroup
	for batch := 1; batch <= 100; batch *= 10 {
		follower := j.Follow()
		readers.Go(func() {
			var seen uint64
			dst := make([]Record, batch)
			for {
				n, lost, err := follower.Next(context.Background(), dst)
				if err != nil {
					break
				}
				seen += uint64(n) + lost
			}
			if seen != writers*each {
				t.Errorf("a follower saw or lost %d records of %d", seen, writers*each)
			}
		})
	}
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				if err := j.append(Record{Signal: Signal{Name: "loss", Point: uint64(w*each + i)}}, false); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	j.Close()
	readers.Wait()
}
