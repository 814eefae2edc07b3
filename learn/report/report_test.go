package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"millrace.dev/control"
	"millrace.dev/learn/data"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/train"
)

func epochs(n int) []train.Epoch {
	var list []train.Epoch
	for i := range n {
		m := train.Metrics{Samples: 100, LossSum: 100 / float64(i+1), Correct: 50 + i}
		list = append(list, train.Epoch{Number: i + 1, Step: 10 * (i + 1), LR: 0.01, Train: m, Valid: m})
	}
	return list
}

// parsed checks that text is well-formed XML and returns the elements' names and attributes.
func parsed(t *testing.T, text string) []xml.StartElement {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	var list []xml.StartElement
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if e, ok := token.(xml.StartElement); ok {
			list = append(list, e.Copy())
		}
	}
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func TestCurves(t *testing.T) {
	for _, n := range []int{0, 1, 2, 8, 100} {
		var b bytes.Buffer
		if err := Curves(&b, epochs(n)); err != nil {
			t.Fatal(err)
		}
		lines, points := 0, 0
		for _, e := range parsed(t, b.String()) {
			if e.Name.Local == "polyline" {
				lines++
				points += len(strings.Fields(attribute(e, "points")))
			}
			for _, name := range []string{"x", "y", "x1", "x2", "y1", "y2", "cx", "cy"} {
				v := attribute(e, name)
				if x, err := strconv.ParseFloat(v, 64); v != "" && (err != nil || x < 0 || x > curvesWidth) {
					t.Errorf("%d epochs: %s %s=%q is outside of the image", n, e.Name.Local, name, v)
				}
			}
		}
		want := 4 * n
		if points != want || n > 0 && lines != 4 {
			t.Errorf("%d epochs: %d lines with %d points", n, lines, points)
		}
	}
	bad := epochs(3)
	bad[1].Valid.LossSum = math.NaN()
	var b bytes.Buffer
	if err := Curves(&b, bad); err != nil || strings.Contains(b.String(), "NaN") {
		t.Errorf("%v, a number that is none was drawn", err)
	}
}

func TestLossFallsOnTheImage(t *testing.T) {
	var b bytes.Buffer
	if err := Curves(&b, epochs(5)); err != nil {
		t.Fatal(err)
	}
	for _, e := range parsed(t, b.String()) {
		if e.Name.Local != "polyline" {
			continue
		}
		var ys []float64
		for _, p := range strings.Fields(attribute(e, "points")) {
			_, y, _ := strings.Cut(p, ",")
			v, err := strconv.ParseFloat(y, 64)
			if err != nil {
				t.Fatal(err)
			}
			ys = append(ys, v)
		}
		if !slices.IsSorted(ys) { // the first panel is the loss: it goes down, so y grows
			t.Errorf("a falling loss is drawn at %v", ys)
		}
		return
	}
}

func TestAxis(t *testing.T) {
	for _, c := range []struct {
		values []float64
		ticks  string
	}{
		{[]float64{0, 1}, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{[]float64{0.31, 0.77}, "0.3 0.4 0.5 0.6 0.7 0.8"},
		{[]float64{120, 4300}, "0 1000 2000 3000 4000 5000"},
		{nil, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{[]float64{-0.001, 0.001}, "-0.0010 -0.0005 0.0000 0.0005 0.0010"},
	} {
		a := newAxis(c.values, 5, 0, 100, false)
		var got []string
		for _, v := range a.ticks() {
			got = append(got, a.label(v))
		}
		if strings.Join(got, " ") != c.ticks {
			t.Errorf("%v: ticks %v, want %s", c.values, got, c.ticks)
		}
	}
	if a := newAxis([]float64{1, 3}, 8, 0, 100, true); len(a.ticks()) != 3 || a.at(1) != 0 || a.at(3) != 100 {
		t.Errorf("epochs 1 to 3: %v", a.ticks())
	}
	if a := newAxis([]float64{7, 7}, 5, 0, 1, false); !(a.low < 7 && a.high > 7) {
		t.Errorf("one value: %+v", a)
	}
}

func TestJudge(t *testing.T) {
	m := Judge(4, 2, []float32{0, 1000, 1000 - float32(math.Log(3))})
	if m.Index != 4 || m.Label != 2 || m.Guess != 1 || math.Abs(m.Probability-0.75) > 1e-4 {
		t.Errorf("%+v", m)
	}
}

func page(t *testing.T) Page {
	t.Helper()
	net, err := nn.Sequential("net", nn.Input("x", 2, 2, 1), nn.Flatten{}, nn.Dense{Units: 2})
	if err != nil {
		t.Fatal(err)
	}
	set, err := data.NewBytes("set", []byte{0, 64, 128, 255, 9, 9, 9, 9}, []int{2, 2, 1}, []int32{0, 1}, []string{"<script>", "b"})
	if err != nil {
		t.Fatal(err)
	}
	return Page{
		Title: "net on <set>", Started: time.Unix(0, 0), Seconds: 1.5, Settings: map[string]any{"lr": 0.5, "name": "</td>"},
		Model: net, Epochs: epochs(2), Classes: set.Classes(), Set: set,
		Test:     train.Metrics{Samples: 4, Correct: 3, Confusion: [][]int{{2, 0}, {1, 1}}},
		Mistakes: []Mistake{{Index: 0, Label: 0, Guess: 1, Probability: 0.6}},
		Decisions: []control.Decision{{
			Point: 3, Subject: "threads", Old: control.Number(2), New: control.Number(1), Reason: "a & b",
			Expect:   &control.Expectation{Signal: "throughput", Statistic: control.Median, Value: 5, Unit: "samples/s"},
			Observed: &control.Outcome{Samples: 2, Value: 6},
		}},
	}
}

func TestPage(t *testing.T) {
	var b bytes.Buffer
	if err := page(t).Write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{
		"75.00 %", "net on &lt;set&gt;", "&lt;script&gt;", "&lt;/td&gt;", "data:image/png;base64,", "<svg", "dense_1",
		"threads 2 → 1", "a &amp; b", "6 samples/s", "taken for", "prefers-color-scheme",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not hold %q", want)
		}
	}
	for _, bad := range []string{"<script", "http://", "https://", "ZgotmplZ"} {
		if strings.Contains(strings.ReplaceAll(text, `xmlns="http://www.w3.org/2000/svg"`, ""), bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
}

func TestPageOfVectors(t *testing.T) {
	p := page(t)
	set, err := data.NewFloats("set", []float32{1, 2}, []int{2}, []int32{0}, []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	p.Set, p.Classes, p.Epochs, p.Decisions = set, set.Classes(), nil, nil
	var b bytes.Buffer
	if err := p.Write(&b); err != nil || strings.Contains(b.String(), "<img") {
		t.Errorf("%v, or a picture of what is none", err)
	}
}
