package job

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"millrace.dev/learn/data"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/optim"
)

// Settings say what to train and how. The names in JSON are those of the flags of train. What is
// nil is left to the optimizer; New fills it in, so that a run's run.json holds what it used.
type Settings struct {
	Model string `json:"model"`
	Data  string `json:"data"`
	Reading

	ValidFraction float64 `json:"valid-fraction"` // of the training samples, held out for validation
	Epochs        int     `json:"epochs"`         // 0 for no bound, when steps give one
	Steps         int     `json:"steps"`          // 0 for no bound
	Batch         int     `json:"batch"`
	FitBatch      bool    `json:"-"` // take a smaller batch where there are few samples; New does

	Optimizer   string   `json:"optimizer"`
	LR          *float64 `json:"lr"`
	Schedule    string   `json:"schedule"`
	WarmUp      int      `json:"warm-up"` // steps
	WeightDecay *float64 `json:"weight-decay"`
	Clip        float64  `json:"clip"`
	Smoothing   float64  `json:"smoothing"`
	Augment     []string `json:"augment"`
	EarlyStop   int      `json:"early-stop"` // epochs without improvement

	Seed            uint64        `json:"seed"`
	Threads         int           `json:"threads"`
	CheckpointEvery time.Duration `json:"checkpoint-every"`
}

// Reading says how a data set is read from files.
type Reading struct {
	TestFraction float64 `json:"test-fraction"`
	LabelColumn  string  `json:"label-column"`
	ImageSize    [2]int  `json:"image-size"` // height, width
	Color        bool    `json:"color"`
	SkipBad      bool    `json:"skip-bad"`
}

// ReadingOf is the settings' form of options.
func ReadingOf(o data.Options) Reading {
	return Reading{o.TestFraction, o.LabelColumn, [2]int{o.Height, o.Width}, o.Color, o.SkipBad}
}

// Options is what package data takes.
func (r Reading) Options() data.Options {
	return data.Options{
		TestFraction: r.TestFraction, LabelColumn: r.LabelColumn,
		Height: r.ImageSize[0], Width: r.ImageSize[1], Color: r.Color, SkipBad: r.SkipBad,
	}
}

// Defaults are the settings of a run that was asked for nothing in particular.
func Defaults() Settings {
	return Settings{
		Model: "lenet", Data: data.DefaultName, Reading: Reading{TestFraction: 0.2},
		ValidFraction: 0.1, Epochs: 6, Batch: 64, Optimizer: "adam", Schedule: "one-cycle",
		Seed: 1, CheckpointEvery: 10 * time.Second,
	}
}

// rates are learning rates that suit each optimizer on the models of the zoo, batches of about
// 64 and a one-cycle schedule.
var rates = map[string]float64{
	"sgd": 0.1, "momentum": 0.02, "nesterov": 0.02, "adam": 0.003, "adamw": 0.003, "rmsprop": 0.001, "lars": 1,
}

// MaxThreads bounds the threads of a run.
const MaxThreads = 1024

// What a batch has at least, and how many an epoch has, when it is fitted to the samples.
const (
	smallestBatch = 8
	fewestSteps   = 10
)

// fitBatch takes the largest power of two that leaves an epoch some steps, no more than the batch
// that was asked for and no fewer than the smallest.
func (s *Settings) fitBatch(samples int) {
	if !s.FitBatch {
		return
	}
	batch := smallestBatch
	for 2*batch*fewestSteps <= samples {
		batch *= 2
	}
	s.Batch = min(s.Batch, batch)
}

// augmentations are known by name; in brackets is what a padding or size refers to.
var augmentations = map[string]data.Augment{
	"flip": data.Flip{}, "crop": data.Crop{Pad: 2}, "jitter": data.Jitter{Shift: 2, Degrees: 10}, "cutout": data.Cutout{Size: 8},
}

// Schedules lists the schedules by name.
func Schedules() []string { return []string{"constant", "step", "cosine", "one-cycle", "plateau"} }

// Augmentations lists the augmentations by name.
func Augmentations() []string { return []string{"flip", "crop", "jitter", "cutout"} }

// Differences lists, in words, which of the named settings are not as in the settings of a run.
func (s Settings) Differences(run Settings, names []string) ([]string, error) {
	if err := s.complete(); err != nil {
		return nil, err
	}
	asked, err := s.fields()
	if err != nil {
		return nil, err
	}
	was, err := run.fields()
	if err != nil {
		return nil, err
	}
	var list []string
	for _, name := range names {
		if a, known := asked[name]; known && string(a) != string(was[name]) {
			list = append(list, fmt.Sprintf("--%s is %s in the run, not %s", name, was[name], a))
		}
	}
	return list, nil
}

// fields are the settings by their names.
func (s Settings) fields() (map[string]json.RawMessage, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	return fields, json.Unmarshal(text, &fields)
}

// SettingError says which setting cannot be used, and why.
type SettingError struct {
	Name   string
	Reason string
}

func (e *SettingError) Error() string { return fmt.Sprintf("%s: %s", e.Name, e.Reason) }

// BadInput marks the error as the fault of what was asked.
func (e *SettingError) BadInput() bool { return true }

func wrong(name, format string, args ...any) error {
	return &SettingError{name, fmt.Sprintf(format, args...)}
}

func unknown(name, value string, known []string) error {
	return wrong(name, "unknown %s %q; known are %s", name, value, strings.Join(known, ", "))
}

// complete fills in what was left open and refuses what cannot be.
func (s *Settings) complete() error {
	o, err := optim.ByName(s.Optimizer)
	if err != nil {
		return &SettingError{"optimizer", err.Error()}
	}
	if s.LR == nil {
		s.LR = new(rates[s.Optimizer])
	}
	if s.WeightDecay == nil {
		s.WeightDecay = new(o.Rule.Decay)
	}
	if s.Data == "" {
		return wrong("data", "it is empty")
	}
	if !slices.Contains(data.Names(), s.Data) {
		path, err := filepath.Abs(s.Data)
		if err != nil {
			return err
		}
		if _, err := filepath.EvalSymlinks(path); err == nil {
			s.Data = path // a run may be resumed from another directory
		}
	}
	return s.check()
}

// between refuses a number out of a range, and what is no number.
func between[T int | float64 | time.Duration](name string, v, low, high T) error {
	if v >= low && v <= high {
		return nil
	}
	return wrong(name, "%v is not from %v to %v", v, low, high)
}

func (s *Settings) check() error {
	const large = 1_000_000_000
	for _, err := range []error{
		between("epochs", s.Epochs, 0, large),
		between("steps", s.Steps, 0, large),
		between("batch", s.Batch, 1, 1<<20),
		between("lr", *s.LR, 0, 1e6),
		between("valid-fraction", s.ValidFraction, 0, 0.9),
		between("warm-up", s.WarmUp, 0, large),
		between("weight-decay", *s.WeightDecay, 0, 1e6),
		between("clip", s.Clip, 0, 1e6),
		between("smoothing", s.Smoothing, 0, 0.99),
		between("early-stop", s.EarlyStop, 0, large),
		between("threads", s.Threads, 0, MaxThreads),
		between("checkpoint-every", s.CheckpointEvery, 0, large*time.Second),
	} {
		if err != nil {
			return err
		}
	}
	if s.Epochs == 0 && s.Steps == 0 {
		return wrong("epochs", "epochs and steps are both 0: nothing would be trained")
	}
	if !(s.TestFraction >= 0 && s.TestFraction < 1) {
		return wrong("test-fraction", "%v is not between 0 and 1", s.TestFraction)
	}
	if !slices.Contains(nn.ZooNames(), s.Model) {
		return &SettingError{"model", (&nn.UnknownModelError{Name: s.Model}).Error()}
	}
	if !slices.Contains(Schedules(), s.Schedule) {
		return unknown("schedule", s.Schedule, Schedules())
	}
	for _, name := range s.Augment {
		if augmentations[name] == nil {
			return unknown("augment", name, Augmentations())
		}
	}
	if s.ValidFraction == 0 && (s.EarlyStop > 0 || s.Schedule == "plateau") {
		return wrong("valid-fraction", "early stopping and the plateau schedule need a validation set")
	}
	return nil
}

// optimizer is the rule that completed settings ask for.
func (s *Settings) optimizer() (optim.Optimizer, error) {
	o, err := optim.ByName(s.Optimizer)
	if err != nil {
		return o, &SettingError{"optimizer", err.Error()}
	}
	o.Rule.Decay = *s.WeightDecay
	o.Clip = float32(s.Clip)
	return o, nil
}

// schedule is the learning rate over a number of steps in all.
func (s *Settings) schedule(total int) optim.Schedule {
	var of optim.Schedule
	switch s.Schedule {
	case "step":
		of = optim.Steps(*s.LR, 0.1, max((total+2)/3, 1))
	case "cosine":
		of = optim.Cosine(*s.LR, 0, total)
	case "one-cycle":
		of = optim.OneCycle(*s.LR, total)
	default:
		of = optim.Constant(*s.LR)
	}
	if s.WarmUp > 0 {
		of = optim.WarmUp(s.WarmUp, of)
	}
	return of
}

func (s *Settings) augment() []data.Augment {
	var list []data.Augment
	for _, name := range s.Augment {
		list = append(list, augmentations[name])
	}
	return list
}

// steps is how many steps a run over so many samples an epoch takes at most.
func (s *Settings) steps(samples int) int {
	batch := min(s.Batch, samples)
	total := s.Epochs * ((samples + batch - 1) / batch)
	if s.Steps > 0 && (total == 0 || s.Steps < total) {
		total = s.Steps
	}
	return total
}
