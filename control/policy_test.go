package control

import (
	"math"
	"strings"
	"testing"
	"time"
)

// past builds the history of one signal, one sample per point from 1 on.
func past(name string, values ...float64) *History {
	h := newHistory()
	for i, v := range values {
		h.observe(Signal{Name: name, Time: epoch, Point: uint64(i + 1), Value: v})
	}
	return h
}

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestPlateau(t *testing.T) {
	nan := math.NaN()
	policy := Plateau{Setting: "rate", Signal: "loss", Delta: 0.1, Patience: 2, Factor: 0.5, Floor: 0.2}
	cases := []struct {
		name    string
		losses  []float64
		rate    float64
		decided uint64 // point of an earlier decision, 0: none
		want    float64
	}{
		{"no samples", nil, 1, 0, 0},
		{"improving", []float64{3, 2, 1}, 1, 0, 0},
		{"one bad sample", []float64{3, 3}, 1, 0, 0},
		{"stalled", []float64{3, 3, 3}, 1, 0, 0.5},
		{"improvement below delta is none", []float64{3, 2.95, 2.91}, 1, 0, 0.5},
		{"slow but real improvement counts from the best", []float64{3, 2.95, 2.85}, 1, 0, 0},
		{"diverged", []float64{3, nan, nan}, 1, 0, 0.5},
		{"recovered", []float64{nan, 3, 2}, 1, 0, 0},
		{"floor", []float64{3, 3, 3}, 0.3, 0, 0.2},
		{"at the floor", []float64{3, 3, 3}, 0.2, 0, 0},
		{"counts anew after a decision", []float64{3, 3, 3, 3}, 0.5, 3, 0},
		{"stalls again after a decision", []float64{3, 3, 3, 3, 3}, 0.5, 3, 0.25},
		{"the best before a decision still counts", []float64{1, 3, 3, 2, 2}, 0.5, 3, 0.25},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := past("loss", c.losses...)
			h.settings["rate"] = Number(c.rate)
			if c.decided > 0 {
				h.decide(Decision{Policy: policy.Name(), Subject: "rate", Point: c.decided, New: Number(c.rate)})
			}
			got, ok := policy.Propose(h)
			if ok != (c.want != 0) || got.New.Number() != c.want {
				t.Errorf("got %v, %v; want %v", got.New, ok, c.want)
			}
		})
	}
}

func TestPlateauExplainsItself(t *testing.T) {
	policy := Plateau{Setting: "rate", Signal: "accuracy", Better: Higher, Delta: 0.01, Patience: 2, Factor: 0.1}
	h := past("accuracy", 0.5, 0.75, 0.7, 0.755)
	h.settings["rate"] = Number(1)
	got, ok := policy.Propose(h)
	if !ok {
		t.Fatal("nothing proposed")
	}
	want := "accuracy has not improved on 0.75 for 2 measurements (patience 2, smallest improvement 0.01)"
	if got.Reason != want {
		t.Errorf("reason %q, want %q", got.Reason, want)
	}
	if e := *got.Expect; e.Value != 0.76 || e.Statistic != Highest || e.Horizon != 2 {
		t.Errorf("expects %+v", e)
	}
	if len(got.Signals) != 2 || got.Signals[0].Point != 2 || got.Signals[1].Point != 4 {
		t.Errorf("rests on %v", got.Signals)
	}
}

func TestEarlyStop(t *testing.T) {
	policy := EarlyStop{Setting: "training", Signal: "accuracy", Better: Higher, Delta: 0, Patience: 3}
	cases := []struct {
		name     string
		accuracy []float64
		now      Setting
		stop     bool
	}{
		{"no samples", nil, Run, false},
		{"improving", []float64{1, 2, 3, 4}, Run, false},
		{"patience not exhausted", []float64{2, 1, 1}, Run, false},
		{"stalled", []float64{2, 1, 2, 1}, Run, true},
		{"improved at the last moment", []float64{2, 1, 1, 3}, Run, false},
		{"stopped already", []float64{2, 1, 1, 1, 1}, Stop, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := past("accuracy", c.accuracy...)
			h.settings["training"] = c.now
			got, ok := policy.Propose(h)
			if ok != c.stop || ok && got.New != Stop {
				t.Errorf("got %v, %v", got.New, ok)
			}
		})
	}
}

// climb lets the policy run against a machine whose throughput is a function
// of the choice and the point, and returns the choices it made.
func climb(t *testing.T, policy HillClimb, first float64, throughput func(choice float64, point uint64) float64, points uint64) (made []float64, loop *Loop) {
	t.Helper()
	loop, err := NewLoop(NewJournal(), Config{
		Settings: map[string]Setting{policy.Setting: Number(first)},
		Policies: []Policy{policy},
		Apply:    func(d Decision) error { made = append(made, d.New.Number()); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	for point := uint64(1); point <= points; point++ {
		value := throughput(loop.Setting(policy.Setting).Number(), point)
		if err := loop.Observe(Signal{Name: policy.Signal, Unit: "images/s", Time: epoch, Point: point, Value: value}); err != nil {
			t.Fatal(err)
		}
		if err := loop.Decide(point, epoch); err != nil {
			t.Fatal(err)
		}
	}
	return made, loop
}

func TestHillClimb(t *testing.T) {
	policy := HillClimb{Setting: "threads", Signal: "throughput", Choices: []float64{1, 2, 4, 8}, Samples: 3, Skip: 1, Margin: 0.05}
	peakAt := func(peak float64) func(float64, uint64) float64 {
		return func(choice float64, _ uint64) float64 { return 100 - 10*math.Abs(math.Log2(choice/peak)) }
	}
	cases := []struct {
		name       string
		first      float64
		throughput func(float64, uint64) float64
		want       []float64
	}{
		{"best already, lower end", 1, peakAt(1), []float64{2, 1}},
		{"best already, upper end", 8, peakAt(8), []float64{4, 8}},
		{"down to the peak", 8, peakAt(2), []float64{4, 2, 1, 2}},
		{"up to the peak", 1, peakAt(4), []float64{2, 4, 8, 4}},
		{"up to the end", 2, peakAt(8), []float64{1, 4, 8}},
		{"in the middle", 2, peakAt(2), []float64{1, 4, 2}},
		{"gain below the margin", 2, func(c float64, _ uint64) float64 { return 100 + c }, []float64{1, 4, 2}},
		{"not one of the choices", 3, peakAt(2), nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			made, _ := climb(t, policy, c.first, c.throughput, 100)
			if !equal(made, c.want) {
				t.Errorf("made %v, want %v", made, c.want)
			}
		})
	}
}

func TestHillClimbJudgesByMedian(t *testing.T) {
	policy := HillClimb{Setting: "threads", Signal: "throughput", Choices: []float64{1, 2}, Samples: 5, Margin: 0.05}
	made, _ := climb(t, policy, 2, func(choice float64, point uint64) float64 {
		if point%5 == 0 {
			return 1e6 // an outlier in every group of samples
		}
		return 100 * choice
	}, 50)
	if !equal(made, []float64{1, 2}) {
		t.Errorf("made %v", made)
	}
}

func TestHillClimbFollowsDrift(t *testing.T) {
	policy := HillClimb{Setting: "threads", Signal: "throughput", Choices: []float64{1, 2}, Samples: 3, Skip: 1, Margin: 0.05, Drift: 0.2, Rest: 10}
	made, loop := climb(t, policy, 2, func(choice float64, point uint64) float64 {
		if choice == 2 && point > 60 {
			return 50 // a neighbour takes one of the cores
		}
		return 100 * choice
	}, 120)
	if !equal(made, []float64{1, 2, 1}) {
		t.Errorf("made %v", made)
	}
	decisions := loop.history.Decisions(policy)
	if reason := decisions[2].Reason; !strings.HasPrefix(reason, "trial: throughput drifted from 200 to 50") {
		t.Errorf("reason %q", reason)
	}
	if last := decisions[len(decisions)-1]; last.Old != last.New || last.Expect == nil || last.Expect.Value != 100 {
		t.Errorf("did not confirm the better choice: %+v", last)
	}
}

func TestHillClimbSurvivesLongHistory(t *testing.T) {
	policy := HillClimb{Setting: "threads", Signal: "throughput", Choices: []float64{1, 2}, Samples: 3, Margin: 0.05, Drift: 0.5}
	made, _ := climb(t, policy, 2, func(choice float64, _ uint64) float64 { return choice }, 5*keep)
	if !equal(made, []float64{1, 2}) {
		t.Errorf("made %v", made)
	}
}

func equal(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestPoliciesLeaveHistoryAlone(t *testing.T) {
	h := past("loss", 3, 3, 3, 3, 3)
	h.settings["rate"], h.settings["training"] = Number(1), Run
	before := append([]Signal(nil), h.Signals("loss")...)
	for _, p := range []Policy{
		Plateau{Setting: "rate", Signal: "loss", Patience: 2, Factor: 0.5},
		EarlyStop{Setting: "training", Signal: "loss", Patience: 2},
		HillClimb{Setting: "rate", Signal: "loss", Choices: []float64{1, 2}, Samples: 2},
	} {
		first, ok := p.Propose(h)
		if !ok {
			t.Errorf("%s proposes nothing", p.Name())
		}
		for i := range first.Signals {
			first.Signals[i].Value = -1
		}
		second, _ := p.Propose(h)
		if first.Reason != second.Reason || first.New != second.New {
			t.Errorf("%s is not pure: %v, then %v", p.Name(), first, second)
		}
	}
	for i, s := range h.Signals("loss") {
		if s != before[i] {
			t.Errorf("sample %d was changed to %v", i, s)
		}
	}
}
