package collective

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"millrace.dev/fabric/sim"
)

func TestChoose(t *testing.T) {
	lan := Model{Alpha: 50e-6, Beta: 1e-9}
	for _, c := range []struct {
		kind     Kind
		n, bytes int
		want     Algorithm
	}{
		{AllReduce, 4, 0, Star},
		{AllReduce, 4, 64, Star},
		{AllReduce, 8, 64 << 10, HalvingDoubling},
		{AllReduce, 3, 100 << 20, Ring},
		{AllReduce, 5, 100 << 20, Ring},
		{AllReduce, 1000, 4, HalvingDoubling},
		{ReduceScatter, 8, 10 << 20, Ring},
		{ReduceScatter, 8, 8, Star},
		{AllGather, 8, 1, Star},
		{AllGather, 8, 10 << 20, Ring},
		{Broadcast, 4, 8, Star},
		{Broadcast, 100, 8, Tree},
		{Broadcast, 8, 100 << 20, Ring},
		{Barrier, 4, 0, Star},
		{Barrier, 1000, 0, HalvingDoubling},
	} {
		got := Choose(c.kind, c.n, c.bytes, lan, false)
		if got.Algorithm != c.want {
			t.Errorf("%v of %d bytes over %d: %s; want %v", c.kind, c.bytes, c.n, got.Reason(), c.want)
		}
		if !strings.Contains(got.Reason(), c.want.String()+" is expected") {
			t.Error(got.Reason())
		}
	}
}

func TestChooseIsTheLeastCost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := Kind(rapid.IntRange(int(AllReduce), int(Barrier)).Draw(rt, "kind"))
		n := rapid.IntRange(1, 64).Draw(rt, "n")
		bytes := rapid.IntRange(0, 1<<30).Draw(rt, "bytes")
		m := Model{rapid.Float64Range(1e-7, 1e-1).Draw(rt, "α"), rapid.Float64Range(1e-11, 1e-6).Draw(rt, "β")}
		c := Choose(k, n, bytes, m, false)
		if !c.Algorithm.Can(k) {
			rt.Fatalf("%v for %v", c.Algorithm, k)
		}
		for a, s := range c.Seconds {
			if s != 0 && s < c.Seconds[c.Algorithm] || s < 0 {
				rt.Fatalf("%v takes %g s, the choice %v %g s", Algorithm(a), s, c.Algorithm, c.Seconds[c.Algorithm])
			}
		}
	})
}

func TestFit(t *testing.T) {
	want := Model{Alpha: 30e-6, Beta: 0.5e-9}
	var s []Sample
	for _, bytes := range []float64{100, 1e4, 1e6} {
		s = append(s, Sample{6, bytes, 6*want.Alpha + bytes*want.Beta})
	}
	got, err := Fit(s)
	if err != nil || math.Abs(got.Alpha/want.Alpha-1) > 1e-6 || math.Abs(got.Beta/want.Beta-1) > 1e-6 {
		t.Fatal(got, err)
	}
	for name, bad := range map[string][]Sample{
		"none":     nil,
		"one":      s[:1],
		"no time":  {{1, 1, 0}, {1, 1000, 1}},
		"infinite": {{1, 1, math.Inf(1)}, {1, 1000, 1}},
	} {
		if m, err := Fit(bad); err == nil {
			t.Errorf("%s: %v", name, m)
		}
	}
	if m, err := Fit([]Sample{{1, 1e3, 1}, {1, 1e6, 0.5}}); err != nil || m.Alpha <= 0 || m.Beta <= 0 {
		t.Errorf("samples that contradict each other: %v, %v", m, err)
	}
}

func TestMeasure(t *testing.T) {
	link := sim.Link{Min: 200 * time.Microsecond, Max: 200 * time.Microsecond, Bandwidth: 100e6}
	world, workers := simWorkers(t, 1, 4, sliceBytes, link)
	var got []Model
	for _, w := range workers {
		w.Measure(func(m Model, err error) {
			if err != nil {
				t.Error(err)
			}
			got = append(got, m)
		})
	}
	world.Run(time.Minute)
	if len(got) != 4 {
		t.Fatalf("%d members have measured", len(got))
	}
	for _, m := range got {
		if m != got[0] || math.Abs(m.Alpha/200e-6-1) > 0.3 || math.Abs(m.Beta*100e6-1) > 0.3 {
			t.Errorf("%+v", m)
		}
	}
	for _, w := range workers {
		if w.model != got[0] {
			t.Errorf("the engine uses %v", w.model)
		}
	}
}

// TestAutoUsesTheChoice: what runs is the algorithm that the model expects to be fastest, for each size and operation.
func TestAutoUsesTheChoice(t *testing.T) {
	used := map[Algorithm]bool{}
	for _, n := range []int{3, 16} {
		_, workers := simWorkers(t, 1, n, sliceBytes, fast)
		for _, model := range []Model{DefaultModel, {Alpha: 1e-6, Beta: 1e-9}, {Alpha: 1e-3, Beta: 1e-10}} {
			for _, kind := range []Kind{AllReduce, ReduceScatter, AllGather, Broadcast} {
				for _, size := range []int{1, 20_000, 1 << 20} { // of bytes
					want := Choose(kind, n, size, model, false)
					used[want.Algorithm] = true
					w := workers[n-1]
					w.SetModel(model)
					r := Request{Name: fmt.Sprint(model, kind, size), Kind: kind, Op: Sum, Dst: Of(make([]uint8, size))}
					switch kind {
					case ReduceScatter:
						lo, hi := Part(size, n, n-1)
						r.Src, r.Dst = r.Dst, Of(make([]uint8, hi-lo))
					case AllGather:
						r.Dst = Of(make([]uint8, n*size))
					}
					c, err := w.Start(r)
					if err != nil {
						t.Fatal(err)
					}
					if c.Choice() != want || c.task.algorithm != want.Algorithm {
						t.Errorf("%d members, %v of %d bytes: %v runs, the choice is %v", n, kind, size, c.task.algorithm, want.Algorithm)
					}
				}
			}
		}
	}
	if len(used) != int(Star) {
		t.Errorf("only %v are ever chosen", used)
	}
}
