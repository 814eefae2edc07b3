package harness

import (
	"context"
	"fmt"
	"math"
	"time"
)

// Limits are what the machine itself can do, by number of threads.
type Limits struct {
	Flops map[int]float64   // multiplications and additions per second
	Read  map[int]Bandwidth // bytes per second of a sum
	Copy  map[int]Bandwidth // of y = x: a read and a write
	Axpy  map[int]Bandwidth // of y += a·x: two reads and a write
}

// Seconds is the least time in which so many operations and so many bytes, of a working set of a
// size, can be done by so many threads.
func (l *Limits) Seconds(threads int, flops, bytes float64, working int) float64 {
	rate := max(l.Read[threads].at(working), l.Copy[threads].at(working), l.Axpy[threads].at(working))
	return max(flops/l.Flops[threads], bytes/rate)
}

// Bandwidth at working sets that fit the second cache, the third, and neither.
type Bandwidth struct{ L2, L3, Memory float64 }

// at is the bandwidth for a working set of so many bytes.
func (b Bandwidth) at(bytes int) float64 {
	switch {
	case bytes <= CacheBytes(2):
		return b.L2
	case bytes <= CacheBytes(3):
		return b.L3
	}
	return b.Memory
}

// MeasureLimits runs the peer peers/limits.cpp. Of several bursts the fastest counts, by CPU time
// per thread: a limit is what the machine can do when nothing disturbs it.
func MeasureLimits(ctx context.Context, peer *Peer, threads []int) (*Limits, error) {
	l := &Limits{Flops: map[int]float64{}, Read: map[int]Bandwidth{}, Copy: map[int]Bandwidth{}, Axpy: map[int]Bandwidth{}}
	for _, n := range threads {
		t, err := fastest(ctx, peer, "fma", n)
		if err != nil {
			return nil, err
		}
		l.Flops[n] = float64(n) * peer.Info.Flops / t
		for _, kind := range []struct {
			name  string
			moved float64 // bytes for every byte of the working set
			to    map[int]Bandwidth
		}{{"read", 1, l.Read}, {"copy", 1, l.Copy}, {"axpy", 1.5, l.Axpy}} {
			if kind.to[n], err = bandwidth(ctx, peer, kind.name, kind.moved, n); err != nil {
				return nil, err
			}
		}
	}
	return l, nil
}

func bandwidth(ctx context.Context, peer *Peer, kind string, moved float64, threads int) (Bandwidth, error) {
	var b Bandwidth
	l2, l3 := max(CacheBytes(2), 256<<10), max(CacheBytes(3), 4<<20)
	for _, at := range []struct {
		bytes int
		rate  *float64
	}{{threads * l2 / 2, &b.L2}, {min(l3/2, 64<<20), &b.L3}, {min(4*l3, 1<<30), &b.Memory}} {
		t, err := fastest(ctx, peer, fmt.Sprintf("%s/%d", kind, at.bytes), threads)
		if err != nil {
			return b, err
		}
		*at.rate = moved * float64(at.bytes) / t
	}
	return b, nil
}

// fastest is the least time of a step.
func fastest(ctx context.Context, peer *Peer, row string, threads int) (float64, error) {
	e := &Entrant{Peer: peer, Row: row, Variant: fmt.Sprint(threads), Label: row}
	if err := Race(ctx, []*Entrant{e}, Pace{Burst: 15 * time.Millisecond, Rounds: 7}); err != nil {
		return 0, err
	}
	if e.Failure != nil {
		return 0, e.Failure
	}
	least := math.Inf(1)
	for _, b := range e.Bursts {
		least = min(least, CPU.Of(b)/float64(threads))
	}
	return least, nil
}

// Lines describes the machine and its limits.
func (l *Limits) Lines(threads []int) []string {
	lines := []string{fmt.Sprintf("CPU: %s; caches L1d %d KiB, L2 %d KiB, L3 %d KiB", CPUModel(), CacheBytes(1)>>10, CacheBytes(2)>>10, CacheBytes(3)>>10)}
	for _, n := range threads {
		lines = append(lines, fmt.Sprintf("limits with %d thread(s): %.0f GF/s fused multiply-add; GB/s in L2 / L3 / memory: read %s, copy %s, y += a·x %s",
			n, l.Flops[n]/1e9, l.Read[n], l.Copy[n], l.Axpy[n]))
	}
	return lines
}

func (b Bandwidth) String() string {
	return fmt.Sprintf("%.0f / %.0f / %.0f", b.L2/1e9, b.L3/1e9, b.Memory/1e9)
}
