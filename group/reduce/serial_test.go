package reduce

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// expression writes a sum with its brackets.
func expression(a Algorithm, n, first int) string {
	sums := make([]string, n)
	for rank := range sums {
		sums[rank] = string(rune('a' + rank))
	}
	merges, result := Order(a, n, first)
	for _, m := range merges {
		sums[m.Into] = "(" + sums[m.Into] + sums[m.From] + ")"
	}
	return sums[result]
}

func TestOrder(t *testing.T) {
	for _, c := range []struct {
		a        Algorithm
		n, first int
		want     string
	}{
		{Ring, 1, 0, "a"}, {Ring, 2, 1, "(ba)"}, {Ring, 4, 3, "(((da)b)c)"},
		{Shared, 4, 0, "(((ab)c)d)"}, {Star, 3, 0, "((ab)c)"},
		{HalvingDoubling, 1, 0, "a"}, {HalvingDoubling, 2, 0, "(ab)"}, {HalvingDoubling, 3, 0, "((ac)b)"},
		{HalvingDoubling, 4, 0, "((ac)(bd))"}, {HalvingDoubling, 5, 0, "(((ae)c)(bd))"},
		{Tree, 2, 0, "(ab)"}, {Tree, 5, 0, "((a((bd)e))c)"},
	} {
		if got := expression(c.a, c.n, c.first); got != c.want {
			t.Errorf("%v of %d from %d: %s, want %s", c.a, c.n, c.first, got, c.want)
		}
	}
}

// slow evaluates a sum element by element, as its definition says.
func slow(a Algorithm, g [][]float32, m []uint64, r []float32) (f Facts) {
	n := len(g)
	f.Finite = true
	for _, w := range m {
		f.Weight += w
	}
	spans, _ := Spans(a, n, len(r))
	for _, s := range spans {
		merges, result := Order(a, n, s.First)
		for e := s.Lo; e < s.Hi; e++ {
			sums, has := make([]float32, n), make([]bool, n)
			for rank := range g {
				sums[rank], has[rank] = float32(float32(m[rank])*g[rank][e]), m[rank] > 0
			}
			for _, x := range merges {
				if has[x.Into] && has[x.From] {
					sums[x.Into] = float32(sums[x.Into] + sums[x.From])
				} else if has[x.From] {
					sums[x.Into], has[x.Into] = sums[x.From], true
				}
			}
			r[e] = 0
			if has[result] {
				r[e] = float32(sums[result] * Scale(f.Weight))
			}
			f.Finite = f.Finite && r[e]-r[e] == 0
		}
	}
	return f
}

func TestSerial(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a := Algorithm(rapid.IntRange(int(Ring), int(Star)).Draw(rt, "algorithm"))
		n := rapid.IntRange(1, 9).Draw(rt, "members")
		size := rapid.IntRange(0, 9000).Draw(rt, "elements")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		g, m := make([][]float32, n), make([]uint64, n)
		for rank := range g {
			g[rank], m[rank] = make([]float32, size), uint64(rng.IntN(4))
			for i := range g[rank] {
				g[rank][i] = float32(rng.NormFloat64())
				if rng.IntN(size*4+1) == 0 {
					g[rank][i] = float32(math.Inf(1))
				}
			}
		}
		got, want := make([]float32, size), make([]float32, size)
		facts, err := Serial(a, g, m, got)
		if err != nil {
			rt.Fatal(err)
		}
		if f := slow(a, g, m, want); f != facts {
			rt.Fatalf("%v: %+v, want %+v", a, facts, f)
		}
		for i := range got {
			if math.Float32bits(got[i]) != math.Float32bits(want[i]) && (got[i] == got[i] || want[i] == want[i]) {
				rt.Fatalf("%v over %d: element %d is %g, want %g", a, n, i, got[i], want[i])
			}
		}
	})
}

func TestSerialRefuses(t *testing.T) {
	g := [][]float32{{1}, {2}}
	for what, err := range map[string]error{
		"weights":   second(Serial(Ring, g, []uint64{1}, make([]float32, 1))),
		"elements":  second(Serial(Ring, g, []uint64{1, 1}, make([]float32, 2))),
		"algorithm": second(Serial(99, g, []uint64{1, 1}, make([]float32, 1))),
	} {
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func second(_ Facts, err error) error { return err }

func TestSegments(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n, elements := rapid.IntRange(1, 40).Draw(rt, "members"), rapid.IntRange(0, 3*Chunk).Draw(rt, "elements")
		at := 0
		spans, err := Spans(Ring, n, elements)
		if err != nil {
			rt.Fatal(err)
		}
		for _, s := range spans {
			if s.Lo != at || s.Hi <= s.Lo || s.Lo%align != 0 || s.Lo/Chunk != (s.Hi-1)/Chunk || s.Hi-s.Lo > Chunk/n+align {
				rt.Fatalf("%+v after %d", s, at)
			}
			at = s.Hi
		}
		if at != elements {
			rt.Fatalf("%d of %d elements", at, elements)
		}
	})
}

func TestAlgorithmNames(t *testing.T) {
	for a := Ring; a <= Star; a++ {
		text, err := a.MarshalText()
		var b Algorithm
		if err != nil || b.UnmarshalText(text) != nil || b != a {
			t.Errorf("%v becomes %v", a, b)
		}
	}
	var b Algorithm
	for _, text := range []string{"", "Ring", "algorithm(9)"} {
		if b.UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q is %v", text, b)
		}
	}
}
