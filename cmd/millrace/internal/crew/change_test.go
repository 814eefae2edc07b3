package crew

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"millrace.dev/control"
	"millrace.dev/group"
	"millrace.dev/learn/train"
)

// viewOf makes a view of members on machines, as in "w0@a w1@b".
func viewOf(epoch uint64, members string) group.View {
	v := group.View{Epoch: epoch}
	for _, m := range strings.Fields(members) {
		name, host, _ := strings.Cut(m, "@")
		id := group.ID(0)
		for _, c := range name {
			id = 100*id + group.ID(c)
		}
		v.Members = append(v.Members, group.Member{ID: id, Name: name, Host: host})
	}
	return v
}

// TestChronicle follows steps through views, and wants a decision at each change with what it should
// bring.
func TestChronicle(t *testing.T) {
	c := chronicle{machine: machine{threads: 1, cores: 2}, terms: Terms{PerWorker: true, Base: 32}, batch: 8}
	now := time.Unix(1e9, 0)
	step := uint64(0)
	next := func(after time.Duration, v group.View, reason, algorithm string) (*Change, []control.Taken, []control.Signal) {
		now, step = now.Add(after), step+1
		scale := float64(len(v.Members)) / 4
		return c.step(now, time.Millisecond, group.Result{
			Step: step, Outcome: group.Apply, View: v, Weight: uint64(8 * len(v.Members)), Reason: reason, Algorithm: algorithm, Choice: "as all share it",
			Reports: []group.Told{{Report: group.Report{Rate: 0.1 * scale}}},
		}, scale)
	}
	four, three, two := viewOf(1, "w0@a w1@a w2@a w3@b"), viewOf(2, "w0@a w1@a w3@b"), viewOf(4, "w1@a w3@b")
	change, taken, signals := next(0, four, "the group begins", "ring")
	if change.Batch != 32 || change.Rate != 0.1 || len(taken) != 2 || len(signals) != 0 || taken[0].Expect != nil {
		t.Errorf("at the begin: %+v, %+v, %v", change, taken, signals)
	}
	for range 20 {
		if change, taken, _ := next(time.Second/10, four, "the group begins", "ring"); change != nil || taken != nil {
			t.Fatalf("a step without a change: %+v, %+v", change, taken)
		}
	}
	change, taken, signals = next(time.Second/4, three, "w2 was lost", "ring")
	if change.Seconds != 0.25 || change.Batch != 24 || math.Abs(change.Rate-0.075) > 1e-12 || fmt.Sprint(change.Members) != "[w0 w1 w3]" {
		t.Errorf("after a loss: %+v", change)
	}
	// 320 samples a second by three cores, of which all stay busy: w0 and w1 have one each.
	if e := taken[0].Expect; len(taken) != 1 || e == nil || e.Signal != train.SignalThroughput || math.Abs(e.Value-320) > 1e-6 || e.Horizon != 100 {
		t.Errorf("after a loss: %+v", taken)
	}
	if !strings.HasPrefix(taken[0].Reason, "w2 was lost; 24 samples a step for w0 w1 w3, learning rate 0.075 in proportion") {
		t.Errorf("the reason is %q", taken[0].Reason)
	}
	if len(signals) != 1 || signals[0].Name != SignalPause || signals[0].Value != 250 {
		t.Errorf("measured is %v", signals)
	}
	// Two views have followed each other before the next step, and the measurements are few.
	change, taken, _ = next(time.Second, two, "some words about the last one", "shared")
	if change.Reason != "w0 is out" || taken[0].Expect != nil {
		t.Errorf("after two views: %+v, %+v", change, taken)
	}
	if len(taken) != 2 || taken[1].Subject != train.SettingReduction || taken[1].New != control.Word("shared") || taken[1].Expect != nil {
		t.Errorf("another reduction: %+v", taken)
	}
	// The last step before a loss was decided with it: the wait was before that one.
	next(time.Second/2, two, "", "shared")
	if change, _, _ = next(time.Second/100, viewOf(5, "w3@b"), "w1 was lost", "shared"); change.Seconds != 0.5 {
		t.Errorf("a step decided late: %+v", change)
	}
	// A step with numbers that are none.
	_, taken, _ = c.step(now, time.Millisecond, group.Result{Step: 99, Outcome: group.Skip, View: viewOf(5, "w3@b"), Weight: 8, Reports: []group.Told{
		{Name: "w1", Report: group.Report{NonFinite: true}}, {Name: "w3"},
	}}, 1)
	if len(taken) != 1 || taken[0].New != control.Number(1) || taken[0].Reason != "the gradient of w1 was not finite: step 99 changes nothing anywhere" {
		t.Errorf("a skipped step: %+v", taken)
	}
}

func TestCapacity(t *testing.T) {
	m := machine{threads: 2, cores: 4}
	for members, want := range map[string]float64{"w0@a": 2, "w0@a w1@a": 4, "w0@a w1@a w2@a": 4, "w0@a w1@a w2@a w3@b": 6} {
		if got := m.capacity(viewOf(1, members)); got != want {
			t.Errorf("%s: %v cores, want %v", members, got, want)
		}
	}
}

func TestProcessors(t *testing.T) {
	for _, c := range []struct {
		m       machine
		r       group.Result
		threads int
	}{
		{machine{1, 4}, group.Result{View: viewOf(1, "w0@a w1@a"), Algorithm: "shared"}, 3},
		{machine{2, 4}, group.Result{View: viewOf(1, "w0@a w1@a"), Algorithm: "shared"}, 2},
		{machine{1, 2}, group.Result{View: viewOf(1, "w0@a w1@a w2@a"), Algorithm: "shared"}, 3},
		{machine{1, 1}, group.Result{View: viewOf(1, "w0@a w1@b"), Algorithm: "ring"}, 3},
		{machine{1, 1}, group.Result{View: viewOf(1, "w0@a")}, 3},
	} {
		if got := c.m.processors(c.r); got != c.threads {
			t.Errorf("%+v with %d workers, %q: %d, want %d", c.m, len(c.r.View.Members), c.r.Algorithm, got, c.threads)
		}
	}
}

// TestRoomForChanges has a member make room when a change of its view begins.
func TestRoomForChanges(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	newMember(group.Config{}, chronicle{machine: machine{3, 3}}, nil).config.Changing()
	if got := runtime.GOMAXPROCS(0); got != 5 {
		t.Errorf("%d goroutines may run at a time", got)
	}
}

// TestLateMember is silent about the view it came with: the others have written that down.
func TestLateMember(t *testing.T) {
	c := chronicle{machine: machine{1, 2}, terms: Terms{Base: 8}, batch: 8, late: true}
	if change, taken, _ := c.step(time.Now(), 0, group.Result{Step: 9, View: viewOf(2, "w0@a w1@a"), Weight: 8, Algorithm: "ring"}, 1); change != nil || taken != nil {
		t.Errorf("it takes down %+v, %+v", change, taken)
	}
}
