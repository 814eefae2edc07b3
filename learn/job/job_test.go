package job

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"millrace.dev/internal/rundir"
	"millrace.dev/learn/optim"
)

func TestSettingsSurviveJSON(t *testing.T) {
	s := Defaults()
	s.Augment, s.ImageSize, s.LR, s.Seed = []string{"flip"}, [2]int{3, 4}, new(0.125), 1<<63
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var again Settings
	if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(again, s) {
		t.Errorf("%v: %+v", err, again)
	}
	if o := s.Options(); o.Height != 3 || o.Width != 4 || ReadingOf(o) != s.Reading {
		t.Errorf("%+v", o)
	}
}

func TestEveryOptimizerHasARate(t *testing.T) {
	for _, name := range optim.Names() {
		if !(rates[name] > 0) {
			t.Errorf("%s has no default learning rate", name)
		}
	}
	for _, name := range Augmentations() {
		if augmentations[name] == nil {
			t.Errorf("%s is no augmentation", name)
		}
	}
	if len(Augmentations()) != len(augmentations) || len(rates) != len(optim.Names()) {
		t.Error("a name is missing from a list")
	}
}

func TestSchedules(t *testing.T) {
	s := Defaults()
	s.LR = new(1.0)
	for name, want := range map[string][3]float64{ // of steps 0, 50 and 99 of 100
		"constant": {1, 1, 1}, "plateau": {1, 1, 1}, "step": {1, 0.1, 0.01}, "cosine": {1, 0.5, 0.0002}, "one-cycle": {0.04, 0.81, 0.0005},
	} {
		s.Schedule = name
		rate := s.schedule(100)
		for i, step := range []int{0, 50, 99} {
			if got := rate(step); got > want[i]*1.1+1e-4 || got < want[i]*0.9-1e-4 {
				t.Errorf("%s, step %d: %v, want about %v", name, step, got, want[i])
			}
		}
	}
	s.Schedule, s.WarmUp = "one-cycle", 10
	if got := s.schedule(100)(0); got > 0.05 {
		t.Errorf("the warm-up begins at %v", got)
	}
}

func TestSteps(t *testing.T) {
	for _, c := range []struct{ epochs, steps, batch, samples, want, inAll int }{
		{2, 0, 10, 95, 20, 190},
		{2, 7, 10, 95, 7, 70},
		{2, 12, 10, 95, 12, 115},
		{0, 30, 10, 95, 30, 285},
		{2, 0, 1000, 95, 2, 190},
	} {
		s := Settings{Epochs: c.epochs, Steps: c.steps, Batch: c.batch}
		j := Job{Settings: s, Samples: c.samples, Steps: s.steps(c.samples)}
		if j.Steps != c.want || j.SamplesInAll() != c.inAll {
			t.Errorf("%+v: %d steps, %d samples", c, j.Steps, j.SamplesInAll())
		}
	}
}

func TestFitBatch(t *testing.T) {
	for _, c := range []struct {
		fit                  bool
		batch, samples, want int
		few                  bool
	}{
		{true, 64, 2, 8, false},
		{true, 64, 159, 8, false},
		{true, 64, 160, 16, false},
		{true, 64, 639, 32, false},
		{true, 64, 640, 64, false},
		{true, 64, 54000, 64, false},
		{true, 4, 54000, 4, false},
		{false, 64, 100, 64, true},
		{false, 64, 576, 64, true},
		{false, 64, 577, 64, false},
		{false, 8, 10, 8, false},
	} {
		j := Job{Settings: Settings{FitBatch: c.fit, Batch: c.batch}, Samples: c.samples}
		j.Settings.fitBatch(c.samples)
		if j.Settings.Batch != c.want || j.FewSteps() != c.few {
			t.Errorf("%+v: batch %d, few steps: %v", c, j.Settings.Batch, j.FewSteps())
		}
	}
}

func TestWeightDecay(t *testing.T) {
	s := Defaults()
	for name, c := range map[string]struct {
		own       float64
		decoupled bool
	}{"adam": {0, false}, "adamw": {0.01, true}, "momentum": {0, false}, "lars": {1e-4, false}} {
		for _, given := range []*float64{nil, new(0.0), new(0.25)} {
			s.Optimizer, s.WeightDecay, s.LR = name, given, nil
			if err := s.complete(); err != nil {
				t.Fatal(err)
			}
			want := c.own
			if given != nil {
				want = *given
			}
			o, err := s.optimizer()
			if err != nil || o.Rule.Decay != want || *s.WeightDecay != want || o.Rule.Decoupled != c.decoupled {
				t.Errorf("%s given %v: %+v, %v", name, given, o.Rule, err)
			}
		}
	}
}

// TestZerosAreKept checks that what was given as 0 is not replaced.
func TestZerosAreKept(t *testing.T) {
	s := Defaults()
	s.LR = new(0.0)
	if err := s.complete(); err != nil || *s.LR != 0 {
		t.Errorf("learning rate %v, %v", *s.LR, err)
	}
	s.Epochs = 0
	var bad *SettingError
	if err := s.complete(); !errors.As(err, &bad) || bad.Name != "epochs" {
		t.Errorf("no epochs and no steps: %v", err)
	}
}

// TestSomeSamplesAreLeftToTrain refuses to test on all that a run trains with.
func TestSomeSamplesAreLeftToTrain(t *testing.T) {
	for _, fraction := range []float64{1, -0.1, math.NaN()} {
		s := Defaults()
		s.TestFraction = fraction
		var bad *SettingError
		if err := s.complete(); !errors.As(err, &bad) || bad.Name != "test-fraction" {
			t.Errorf("test fraction %v: %v", fraction, err)
		}
	}
}

func TestNewLeavesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	s := Defaults()
	s.Model, s.Epochs = "mlp", 1
	j, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	if j.Samples < 8900 || j.Samples > 9100 || *j.Settings.LR != 0.003 {
		t.Errorf("%d samples to train on", j.Samples)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

func TestLoadRefusesOtherRuns(t *testing.T) {
	dir, err := rundir.Create("flow", t.TempDir()+"/run", time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.WriteManifest(rundir.Manifest{Verb: "flow"}); err != nil {
		t.Fatal(err)
	}
	var bad *rundir.Error
	if _, err := Load(dir); !errors.As(err, &bad) || !strings.Contains(err.Error(), "a run of flow") {
		t.Errorf("got %v", err)
	}
}
