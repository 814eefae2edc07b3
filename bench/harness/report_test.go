package harness

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestJSONRows(t *testing.T) {
	bar := 0.9
	r := Report{Rows: []Row{
		{Row: "a", Ours: 1, Peer: 2, Ratio: 0.5, Limit: 0.25, Bar: &bar, OK: true},
		{Row: "b", Ours: math.NaN(), Peer: 2, Ratio: math.NaN(), Limit: math.NaN(), Missing: "why"},
	}}
	var out bytes.Buffer
	if err := r.JSON(&out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines for 2 rows", len(lines))
	}
	var first struct {
		Row                           string
		Ours, Peer, Ratio, Bar, Limit float64
		OK                            bool
	}
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil {
		t.Fatal(err)
	}
	if first.Row != "a" || first.Ours != 1 || first.Peer != 2 || first.Ratio != 0.5 || first.Bar != 0.9 || first.Limit != 0.25 || !first.OK {
		t.Errorf("first row reads %+v", first)
	}
	if !strings.Contains(lines[1], `"ours":null`) || !strings.Contains(lines[1], `"bar":null`) {
		t.Errorf("unknown figures are not null: %s", lines[1])
	}
}

func TestStatistics(t *testing.T) {
	for _, c := range []struct {
		v    []float64
		q    float64
		want float64
	}{{[]float64{3, 1, 2}, 0.5, 2}, {[]float64{1, 2, 3, 4}, 0.5, 2.5}, {[]float64{5}, 0.25, 5}, {[]float64{0, 10}, 0.25, 2.5}} {
		if got := Quantile(c.v, c.q); got != c.want {
			t.Errorf("quantile %g of %v is %g, want %g", c.q, c.v, got, c.want)
		}
	}
	if !math.IsNaN(Median(nil)) {
		t.Error("the median of nothing is a number")
	}
	a := &Entrant{Bursts: []Burst{{Wall: 1, Steps: 1}, {Wall: 4, Steps: 2}, {Wall: 3, Steps: 1}}}
	b := &Entrant{Bursts: []Burst{{Wall: 1, Steps: 1}, {Wall: 2, Steps: 1}, {Wall: 3, Steps: 1}}}
	if s := Spread(Wall, a, b); s != 0 {
		t.Errorf("spread of equal ratios is %g", s)
	}
}
