package collective

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"millrace.dev/fabric"
	"millrace.dev/group/reduce"
)

// cpuTime is what this process has used so far.
func cpuTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkStep reduces 25.56 million gradients, those of a ResNet-50, between members of one process.
func BenchmarkStep(b *testing.B) {
	for _, kind := range []string{"unix", "tcp"} {
		for _, n := range []int{2, 4} {
			b.Run(fmt.Sprintf("%s%d", kind, n), func(b *testing.B) {
				trainers, members := newTrainers(b, n, 25_560_000, rand.New(rand.NewPCG(1, 1)))
				for _, tr := range trainers {
					tr.step.out.limit = flyingBytes
				}
				overSockets(b, kind, members)
				step := uint64(0)
				ends := make(chan error, n)
				b.SetBytes(4 * 25_560_000)
				before := cpuTime()
				for b.Loop() {
					for _, tr := range trainers {
						tr.Begin(step, 1, func(_ reduce.Facts, err error) { ends <- err })
						go tr.Ready(0, len(tr.g))
					}
					for range trainers {
						if err := <-ends; err != nil {
							b.Fatal(err)
						}
					}
					step++
				}
				b.ReportMetric(float64(cpuTime()-before)/1e6/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

// BenchmarkAllReduce measures calls of several sizes by each algorithm.
func BenchmarkAllReduce(b *testing.B) {
	for _, n := range []int{2, 4} {
		for _, size := range []int{1 << 10, 64 << 10, 1 << 20, 16 << 20} {
			for a := Ring; a <= Star; a++ {
				b.Run(fmt.Sprintf("n%d/%dKiB/%v", n, size>>10, a), func(b *testing.B) {
					workers, members := newWorkers(b, n, sliceBytes, func(int) fabric.Clock { return fabric.System })
					for _, w := range workers {
						for to := range w.peers {
							w.peers[to].out.limit = flyingBytes
						}
					}
					overSockets(b, "unix", members)
					x := make([][]float32, n)
					for rank := range x {
						x[rank] = make([]float32, size/4)
					}
					ends := make(chan error, n)
					done := func(err error) { ends <- err }
					b.SetBytes(int64(size))
					for b.Loop() {
						for rank, w := range workers {
							if _, err := w.Start(Request{Name: "x", Kind: AllReduce, Op: Max, Dst: Of(x[rank]), Algorithm: a, Done: done}); err != nil {
								b.Fatal(err)
							}
						}
						for range workers {
							if err := <-ends; err != nil {
								b.Fatal(err)
							}
						}
					}
				})
			}
		}
	}
}
