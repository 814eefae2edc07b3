package harness

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBarsOfThisRepositoryLoad(t *testing.T) {
	bars, err := LoadBars("../bars.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(bars["gemm"]) == 0 || len(bars["step"]) == 0 {
		t.Errorf("bars: %v", bars)
	}
}

func TestBadBarsAreErrors(t *testing.T) {
	for text, want := range map[string]string{
		"x:\n  - {row: a, at_most: 1, at_least: 1, against: b, measured: c}": "exactly one",
		"x:\n  - {row: a, against: b, measured: c}":                          "exactly one",
		"x:\n  - {row: a, at_most: 1, against: b, measured: c, ratio: 2}":    "unknown field",
		"x:\n  - {row: '[', at_most: 1, against: b, measured: c}":            "bad row pattern",
	} {
		file := filepath.Join(t.TempDir(), "bars.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadBars(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}

func TestJudge(t *testing.T) {
	limit := func(x float64) *float64 { return &x }
	bars := Bars{"b": {
		{Row: "a/special", AtLeast: limit(2)},
		{Row: "a/*", AtMost: limit(1)},
		{Row: "count", OursMost: limit(0)},
		{Row: "share", OursLeast: limit(0.9)},
	}}
	rows := []Row{
		{Row: "a/special", Ratio: 1.9}, {Row: "a/special", Ratio: 2},
		{Row: "a/x", Ratio: 1}, {Row: "a/x", Ratio: 1.1}, {Row: "a/x", Ratio: math.NaN(), Missing: "no peer"},
		{Row: "count", Ours: 0}, {Row: "count", Ours: 1},
		{Row: "share", Ours: 0.9}, {Row: "share", Ours: 0.89},
		{Row: "free", Ratio: 100},
	}
	if err := bars.Judge("b", rows, true); err != nil {
		t.Fatal(err)
	}
	want := []bool{false, true, true, false, false, true, false, true, false, true}
	for i, r := range rows {
		if r.Passes() != want[i] {
			t.Errorf("row %d, %+v: passes %v, want %v", i, r, r.Passes(), want[i])
		}
	}
	if r := (Report{Rows: rows}); r.Missed() != 5 {
		t.Errorf("%d rows miss, want 5", r.Missed())
	}
	if err := bars.Judge("b", rows[:5], true); err == nil {
		t.Error("a bar without a row passes")
	}
	if err := bars.Judge("b", rows[:5], false); err != nil {
		t.Errorf("a short run needs every bar: %v", err)
	}
}
