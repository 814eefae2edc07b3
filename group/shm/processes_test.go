package shm

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

func TestStepsOfProcesses(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{2, 3, 5} {
		if n > 3 && testing.Short() {
			break
		}
		members := startMembers(t, n, 1+r.IntN(400_000))
		all(t, members, order{Do: "attach", Epoch: 1, Members: numbers(members)})
		for step := range rounds {
			o := order{Do: "start", Step: uint64(step), Seed: r.Uint64(), Members: numbers(members)}
			for range n {
				o.Weights = append(o.Weights, uint64(r.IntN(3)*r.IntN(100)))
			}
			all(t, members, o)
			o.Do = "wait"
			all(t, members, o)
		}
	}
}

func TestBuffersOfProcesses(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	rounds := 10
	if testing.Short() {
		rounds = 3
	}
	for _, n := range []int{2, 4} {
		members := startMembers(t, n, 1)
		all(t, members, order{Do: "comm", Epoch: 1, Members: numbers(members)})
		for range rounds {
			all(t, members, order{Do: "sum", Seed: r.Uint64(), Elements: 1 + r.IntN(400_000), Members: numbers(members)})
		}
	}
}

// A member is killed at a random moment of a step. The others' Cancel returns at once, their gradients are as they
// were, and they reduce them again among themselves.
func TestKilledInAStep(t *testing.T) {
	rounds := 8
	if testing.Short() {
		rounds = 1
	}
	r := rand.New(rand.NewPCG(11, 12))
	const n = 4
	for range rounds {
		members := startMembers(t, n, 800_000)
		all(t, members, order{Do: "attach", Epoch: 1, Members: numbers(members)})
		o := order{Do: "start", Step: 9, Seed: r.Uint64(), Weights: []uint64{16, 16, 0, 16}}
		for _, m := range members {
			m.tell(t, o)
		}
		time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
		victim := r.IntN(n)
		members[victim].kill(t)
		survivors := append(append([]*member(nil), members[:victim]...), members[victim+1:]...)
		for _, m := range survivors {
			m.hear(t)
		}
		for _, m := range survivors {
			m.tell(t, order{Do: "cancel"})
			if a := m.hear(t); a.Error != "" && a.Error != "the step has ended well" {
				t.Fatal(a.Error)
			}
		}
		view := order{Do: "attach", Epoch: 2, Members: numbers(survivors), Seed: o.Seed, Step: 9, Weights: []uint64{16, 3, 16}}
		all(t, survivors, view)
		view.Do = "again"
		all(t, survivors, view)
		view.Do = "wait"
		all(t, survivors, view)
		for _, m := range survivors {
			m.in.Close()
		}
	}
}

// BenchmarkBuffers tells what an operation on a buffer costs.
func BenchmarkBuffers(b *testing.B) {
	for _, elements := range []int{256, 65536, 25_600_000} {
		for _, n := range []int{2, 4} {
			b.Run(fmt.Sprintf("bytes=%d/n=%d", 4*elements, n), func(b *testing.B) {
				members := startMembers(b, n, 1)
				all(b, members, order{Do: "comm", Epoch: 1, Members: numbers(members)})
				times := max(5, min(20000, 50_000_000/elements))
				o := order{Do: "latency", Elements: elements, Times: times/10 + 1}
				all(b, members, o)
				o.Times = times
				for b.Loop() {
					b.ReportMetric(1e6*all(b, members, o)[0].Seconds, "µs/op")
				}
			})
		}
	}
}

// BenchmarkSteps tells what a step of 102 MB costs.
func BenchmarkSteps(b *testing.B) {
	for _, n := range []int{2, 4, 8} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			members := startMembers(b, n, 25_600_000)
			all(b, members, order{Do: "attach", Epoch: 1, Members: numbers(members)})
			o := order{Do: "throughput", Times: 2}
			all(b, members, o)
			o.Step, o.Times = 100, 10
			for b.Loop() {
				b.ReportMetric(1e3*all(b, members, o)[0].Seconds, "ms/step")
				o.Step += 100
			}
		})
	}
}

// BenchmarkNextView tells what a view costs after a member of four has died.
func BenchmarkNextView(b *testing.B) {
	for b.Loop() {
		members := startMembers(b, 4, 25_600_000)
		view := order{Do: "attach", Epoch: 1, Members: numbers(members)}
		steps := order{Do: "throughput", Times: 1}
		all(b, members, view)
		all(b, members, steps)
		time.Sleep(200 * time.Millisecond)
		members[3].kill(b)
		members = members[:3]
		view.Epoch, view.Members = 2, numbers(members)
		attach := all(b, members, view)[0]
		steps.Step = 10
		first := all(b, members, steps)[0]
		steps.Step, steps.Times = 20, 10
		usual := all(b, members, steps)[0]
		b.ReportMetric(1e3*attach.Seconds, "ms/attach")
		b.ReportMetric(1e3*attach.CPU, "CPU-ms/attach")
		b.ReportMetric(1e3*first.Seconds, "ms/first")
		b.ReportMetric(1e3*first.CPU, "CPU-ms/first")
		b.ReportMetric(1e3*usual.Seconds, "ms/usual")
		b.ReportMetric(1e2*usual.CPU, "CPU-ms/usual")
		for _, m := range members {
			m.in.Close()
		}
	}
}
