package sim

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestBufferKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b buffer
		var want []packet
		for i, push := range rapid.SliceOf(rapid.Bool()).Draw(t, "pushes") {
			if p := (packet{made: int64(i)}); push || len(want) == 0 {
				b.push(p)
				want = append(want, p)
			} else {
				if got := b.pop(); got != want[0] {
					t.Fatalf("%v, want %v", got, want[0])
				}
				want = want[1:]
			}
			if b.size != len(want) {
				t.Fatalf("size %d, want %d", b.size, len(want))
			}
		}
	})
}

func TestNanojoules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, d := rapid.Int64Range(0, 1e12).Draw(t, "nW"), rapid.Int64Range(0, 1e15).Draw(t, "ns")
		want := float64(p) * float64(d) / 1e9
		if got := float64(nanojoules(p, d)); math.Abs(got-min(want, maxEnergy)) > 1+1e-9*want {
			t.Fatalf("%v, want %v", got, want)
		}
	})
	if nanojoules(math.MaxInt64, math.MaxInt64) != maxEnergy {
		t.Fatal("overflow")
	}
}

func TestAgeQuantiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Float64Range(0.01, 1e5), 1, 100).Draw(t, "ages")
		q := rapid.Float64Range(0.01, 1).Draw(t, "q")
		var a ages
		for _, s := range list {
			a.add(s, 1)
		}
		slices.Sort(list)
		want := list[int(math.Ceil(q*float64(len(list))))-1]
		if got := a.quantile(q); math.Abs(got-want) > 0.011*want {
			t.Fatalf("%v, want %v", got, want)
		}
	})
	if (&ages{}).quantile(0.5) != 0 {
		t.Fatal("ages of nothing")
	}
}
