package control

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// trainer is a small deterministic run: its loss falls with the rate and
// stalls at a level that a smaller rate lowers, its throughput depends on the
// threads. It is measured at every point and decided on at every third.
type trainer struct {
	loop    *Loop
	journal *Journal
	applied []string
}

func (r *trainer) config() Config {
	return Config{
		Settings: map[string]Setting{"rate": Number(0.1), "threads": Number(4), "training": Run},
		Policies: trainerPolicies,
		Apply: func(d Decision) error {
			r.applied = append(r.applied, fmt.Sprintf("%d: %s", d.Point, d.Change()))
			return nil
		},
	}
}

var trainerPolicies = []Policy{
	Plateau{Setting: "rate", Signal: "loss", Delta: 0.001, Patience: 5, Factor: 0.1, Floor: 0.001},
	EarlyStop{Setting: "training", Signal: "loss", Delta: 0.001, Patience: 20},
	HillClimb{Setting: "threads", Signal: "throughput", Choices: []float64{1, 2, 4}, Samples: 3, Skip: 1, Margin: 0.05, Drift: 0.3, Rest: 5},
}

func startTrainer(t *testing.T, path string) *trainer {
	t.Helper()
	r := openTrainer(t, path)
	if err := r.loop.Start(0, epoch); err != nil {
		t.Fatal(err)
	}
	return r
}

func openTrainer(t *testing.T, path string) *trainer {
	t.Helper()
	journal, err := OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	r := &trainer{journal: journal}
	if r.loop, err = NewLoop(journal, r.config()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { journal.Close() })
	return r
}

func (r *trainer) run(t *testing.T, from, to uint64) {
	t.Helper()
	for point := from; point <= to; point++ {
		at := epoch.Add(time.Duration(point) * time.Second)
		loss := math.Sqrt(r.loop.Setting("rate").Number()) + 3/float64(point*point)
		throughput := 100*r.loop.Setting("threads").Number() - float64(point%3)
		if point > 60 {
			throughput /= 3
		}
		err := errors.Join(
			r.loop.Observe(Signal{"loss", "nats", at, point, loss}),
			r.loop.Observe(Signal{"throughput", "images/s", at, point, throughput}))
		if point%3 == 0 {
			err = errors.Join(err, r.loop.Decide(point, at))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestLoopDecidesAndLooksBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	r := startTrainer(t, path)
	r.run(t, 1, 120)
	if err := r.loop.Finish(120, epoch); err != nil {
		t.Fatal(err)
	}
	r.journal.Close()
	decisions, _, err := ReadDecisions(path)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for i, d := range decisions {
		kinds[d.Policy]++
		if d.ID != uint64(i+1) || d.Reason == "" || len(d.Signals) == 0 {
			t.Errorf("incomplete: %+v", d)
		}
		if (d.Expect != nil) != (d.Observed != nil) || (d.Expect != nil) != (d.New != Stop) {
			t.Errorf("%s: expected %v, observed %v", d.Change(), d.Expect, d.Observed)
		}
		if d.Trial != strings.HasPrefix(d.Reason, "trial: ") || d.Trial && d.Observed.Samples == 0 {
			t.Errorf("trial %v: %s, observed %+v", d.Trial, d.Reason, d.Observed)
		}
		for _, s := range d.Signals {
			if s.Point > d.Point {
				t.Errorf("decision of point %d rests on a signal of point %d", d.Point, s.Point)
			}
		}
	}
	if kinds["plateau"] != 2 || kinds["early stop"] != 1 || kinds["hill climb"] < 4 {
		t.Errorf("decisions by policy: %v", kinds)
	}
	first := decisions[0]
	for _, d := range decisions {
		if d.Policy == "plateau" {
			first = d
			break
		}
	}
	if o := first.Observed; o.Samples == 0 || o.Value >= first.Expect.Value {
		t.Errorf("expected loss below %v, observed %+v", first.Expect.Value, o)
	}
	if got := r.loop.Setting("training"); got != Stop {
		t.Errorf("training: %v", got)
	}
}

func TestReplayDecidesTheSame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	r := startTrainer(t, path)
	r.run(t, 1, 120)
	r.journal.Close()
	recorded, _, err := ReadDecisions(path)
	if err != nil {
		t.Fatal(err)
	}
	derived, err := Replay(path, trainerPolicies)
	if err != nil || len(derived) != len(recorded) || len(derived) == 0 {
		t.Errorf("%d of %d decisions: %v", len(derived), len(recorded), err)
	}
	_, err = Replay(path, trainerPolicies[1:])
	if err == nil || !strings.Contains(err.Error(), "recorded was") {
		t.Errorf("other policies: got %v", err)
	}
}

func TestResumeGoesOnAsIfUninterrupted(t *testing.T) {
	whole := startTrainer(t, filepath.Join(t.TempDir(), "events.jsonl"))
	whole.run(t, 1, 120)
	for crash := uint64(1); crash < 120; crash += 13 {
		for _, back := range []uint64{0, 1, 20} {
			checkpoint := crash - min(back, crash)
			path := filepath.Join(t.TempDir(), "events.jsonl")
			first := startTrainer(t, path)
			first.run(t, 1, crash)
			first.journal.Close()
			second := openTrainer(t, path)
			if err := second.loop.Resume(checkpoint, epoch); err != nil {
				t.Fatal(err)
			}
			second.run(t, checkpoint+1, 120)
			second.journal.Close()
			for _, subject := range []string{"rate", "threads", "training"} {
				if got, want := second.loop.Setting(subject), whole.loop.Setting(subject); got != want {
					t.Errorf("crash at %d, back to %d: %s is %v, want %v", crash, checkpoint, subject, got, want)
				}
			}
			if got := kept(first.applied, checkpoint, second.applied); !cmp.Equal(got, whole.applied) {
				t.Errorf("crash at %d, back to %d:\n%s", crash, checkpoint, cmp.Diff(whole.applied, got))
			}
			if _, err := Replay(path, trainerPolicies); err != nil {
				t.Errorf("crash at %d, back to %d: %v", crash, checkpoint, err)
			}
		}
	}
}

func TestResumeObservesAgainWhatEndedEarly(t *testing.T) {
	outcomes := func(stops ...uint64) (found []Outcome) {
		path := filepath.Join(t.TempDir(), "events.jsonl")
		r := startTrainer(t, path)
		from := uint64(1)
		for _, stop := range stops {
			r.run(t, from, stop)
			if err := r.loop.Finish(stop, epoch); err != nil {
				t.Fatal(err)
			}
			r.journal.Close()
			r = openTrainer(t, path)
			if err := r.loop.Resume(stop, epoch); err != nil {
				t.Fatal(err)
			}
			from = stop + 1
		}
		r.run(t, from, 90)
		r.journal.Close()
		decisions, _, err := ReadDecisions(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range decisions {
			if d.Observed != nil {
				found = append(found, *d.Observed)
			}
		}
		return found
	}
	whole, stopped := outcomes(), outcomes(13, 25, 26, 37, 49, 61, 62, 74, 88)
	if len(whole) == 0 || !cmp.Equal(whole, stopped) {
		t.Errorf("observed otherwise after stops:\n%s", cmp.Diff(whole, stopped))
	}
}

func TestResumeNeedsAFile(t *testing.T) {
	if err := newMemoryLoop(t, nil).Resume(5, epoch); err != nil {
		t.Errorf("without policies: %v", err)
	}
	if err := newMemoryLoop(t, nil, always{"p", "rate", Proposal{}}).Resume(5, epoch); err == nil {
		t.Error("resumed policies from nothing")
	}
}

// kept is what was applied up to the checkpoint before and all that was after.
func kept(before []string, checkpoint uint64, after []string) (all []string) {
	for _, a := range before {
		var point uint64
		fmt.Sscanf(a, "%d:", &point)
		if point <= checkpoint {
			all = append(all, a)
		}
	}
	return append(all, after...)
}

func TestUndoneDecisionsAreMarked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	first := startTrainer(t, path)
	first.run(t, 1, 60)
	first.journal.Close()
	second := openTrainer(t, path)
	if err := second.loop.Resume(10, epoch); err != nil {
		t.Fatal(err)
	}
	second.journal.Close()
	decisions, _, err := ReadDecisions(path)
	if err != nil || len(decisions) < 4 {
		t.Fatalf("%d decisions, %v", len(decisions), err)
	}
	for _, d := range decisions {
		if d.Undone != (d.Point > 10) {
			t.Errorf("decision %d of point %d: undone %v", d.ID, d.Point, d.Undone)
		}
	}
}

// always proposes the same change at every point.
type always struct {
	name, subject string
	proposal      Proposal
}

func (a always) Name() string                      { return a.name }
func (a always) Subject() string                   { return a.subject }
func (a always) Propose(*History) (Proposal, bool) { return a.proposal, true }
func newMemoryLoop(t *testing.T, apply func(Decision) error, policies ...Policy) *Loop {
	t.Helper()
	loop, err := NewLoop(NewJournal(), Config{
		Settings: map[string]Setting{"rate": Number(1), "threads": Number(1)},
		Policies: policies, Apply: apply,
	})
	if err != nil {
		t.Fatal(err)
	}
	return loop
}

func TestFirstPolicyWins(t *testing.T) {
	var applied []string
	loop := newMemoryLoop(t, func(d Decision) error { applied = append(applied, d.Policy); return nil },
		always{"first", "rate", Proposal{New: Number(2)}},
		always{"second", "rate", Proposal{New: Number(3)}},
		always{"third", "threads", Proposal{New: Number(2)}})
	loop.Observe(Signal{Name: "loss", Point: 1})
	if err := loop.Decide(1, epoch); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(applied) != "[first third]" || loop.Setting("rate") != Number(2) {
		t.Errorf("applied %v, rate %v", applied, loop.Setting("rate"))
	}
	if err := loop.Decide(2, epoch); err != nil || len(applied) != 2 {
		t.Errorf("decided again without new signals: %v, %v", applied, err)
	}
}

func TestNewerDecisionEndsTheHorizon(t *testing.T) {
	loop := newMemoryLoop(t, func(Decision) error { return nil },
		always{"eager", "rate", Proposal{New: Number(2), Expect: &Expectation{Signal: "loss", Statistic: Lowest, Value: 1, Horizon: 100}}})
	for point := uint64(1); point <= 6; point++ {
		loop.Observe(Signal{Name: "loss", Point: point, Value: 10 - float64(point)})
		if point%3 == 0 {
			if err := loop.Decide(point, epoch); err != nil {
				t.Fatal(err)
			}
		}
	}
	var outcomes []Outcome
	for _, r := range loop.journal.ring.records {
		if r.Outcome != nil {
			outcomes = append(outcomes, *r.Outcome)
		}
	}
	if len(outcomes) != 1 || outcomes[0].Decision != 1 || outcomes[0].Samples != 3 || outcomes[0].Value != 4 {
		t.Errorf("got %+v", outcomes)
	}
}

func TestFailedApplyEndsTheLoop(t *testing.T) {
	broken := errors.New("no such device")
	loop := newMemoryLoop(t, func(Decision) error { return broken }, always{"first", "rate", Proposal{New: Number(2)}})
	loop.Observe(Signal{Name: "loss", Point: 1})
	err := loop.Decide(1, epoch)
	if !errors.Is(err, broken) || err.Error() != "decision 1 (rate 1 → 2): no such device" {
		t.Errorf("got %v", err)
	}
	loop.Observe(Signal{Name: "loss", Point: 2})
	if again := loop.Decide(2, epoch); !errors.Is(again, broken) {
		t.Errorf("then %v", again)
	}
	records := loop.journal.ring.records[:loop.journal.ring.next]
	if last := records[len(records)-2]; last.Outcome == nil || last.Outcome.Failed != "no such device" {
		t.Errorf("recorded %+v", last)
	}
}

func TestLoopRefuses(t *testing.T) {
	rate := always{"p", "rate", Proposal{}}
	for name, config := range map[string]Config{
		"two policies":        {Settings: map[string]Setting{"rate": {}}, Policies: []Policy{rate, rate}},
		"there is no setting": {Policies: []Policy{rate}},
		"NaN is not finite":   {Settings: map[string]Setting{"rate": Number(math.NaN())}},
	} {
		if _, err := NewLoop(NewJournal(), config); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	loop := newMemoryLoop(t, nil, always{"wild", "rate", Proposal{New: Number(math.Inf(1))}})
	if err := loop.Observe(Signal{}); err == nil {
		t.Error("a signal without a name was taken")
	}
	loop.Observe(Signal{Name: "loss", Point: 2})
	if err := loop.Observe(Signal{Name: "loss", Point: 1}); err == nil {
		t.Error("a signal of an earlier point was taken")
	}
	if err := loop.Decide(2, epoch); err == nil || loop.Setting("rate") != Number(1) {
		t.Errorf("an infinite rate was accepted: %v, %v", loop.Setting("rate"), err)
	}
}

func TestObserveAllocatesNothing(t *testing.T) {
	journal, err := OpenJournal(filepath.Join(t.TempDir(), "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	loop, err := NewLoop(journal, Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := Signal{Name: "throughput", Unit: "images/s", Time: epoch, Value: 1234.5678}
	observe := func() {
		s.Point++
		s.Time = s.Time.Add(time.Millisecond)
		if err := loop.Observe(s); err != nil {
			t.Fatal(err)
		}
	}
	for range 2*keep + 1 {
		observe()
	}
	if n := testing.AllocsPerRun(5000, observe); n != 0 {
		t.Errorf("%v allocations per signal", n)
	}
}

func TestObserveWhileDeciding(t *testing.T) {
	loop := newMemoryLoop(t, func(Decision) error { return nil },
		always{"first", "rate", Proposal{New: Number(2), Signals: []Signal{{Name: "x"}}, Expect: &Expectation{Signal: "loss 0", Statistic: Median, Horizon: 1}}})
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			name := fmt.Sprint("loss ", w)
			for i := range uint64(2000) {
				if err := loop.Observe(Signal{Name: name, Point: i}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range uint64(500) {
		if err := loop.Decide(i, epoch); err != nil {
			t.Error(err)
		}
	}
	writers.Wait()
}
