package job

import (
	"context"
	"fmt"
	"io"
	"time"

	"millrace.dev/internal/durable"
	"millrace.dev/learn/data"
	"millrace.dev/learn/report"
	"millrace.dev/learn/train"
)

// Result is what a run brought.
type Result struct {
	Run     string  `json:"run"`
	Network string  `json:"network"`
	Data    string  `json:"data"`
	Weights int     `json:"weights"`
	Steps   int     `json:"steps"`
	Epochs  int     `json:"epochs"`
	Seconds float64 `json:"seconds"` // of all processes that worked on the run
	Stopped bool    `json:"stopped"` // early, by a decision

	// BestEpoch is the one after which the weights are those of the model, when the run may stop
	// early; 0 when they are the last ones.
	BestEpoch int `json:"best_epoch,omitzero"`

	MemoryBytes     int `json:"memory_bytes"` // that the run computed in, without the data set
	ArenaBytes      int `json:"arena_bytes"`  // of a step
	ArenaLowerBound int `json:"arena_lower_bound_bytes"`

	TestSamples  int     `json:"test_samples"`
	TestAccuracy float64 `json:"test_accuracy"`
	TestLoss     float64 `json:"test_loss"`
	// TestTop5 is the share of samples whose class is among the five most probable; nil where
	// there are not more classes than that.
	TestTop5 *float64 `json:"test_top5,omitempty"`

	Workers int `json:"workers,omitempty"` // that trained it together at the end; 0 for one alone
	Views   int `json:"views,omitempty"`   // lists of workers that followed each other since this process began

	Model  string `json:"model"` // paths
	Curves string `json:"curves"`
	Report string `json:"report"`
}

// Run trains to the end, measures the model on the test split and writes the results, the model
// only when it can be measured. When the context ends it saves a checkpoint and returns the
// context's error: the run can be resumed, as it can be after a *WriteError.
func (j *Job) Run(ctx context.Context, observe train.Observer) (*Result, error) {
	// A note that is lost costs the sum of a later resume some seconds.
	defer func() { _ = j.trainer.Elapsed(time.Since(j.started)) }()
	if err := j.Train(ctx, observe); err != nil {
		return nil, err
	}
	return j.Finish(ctx)
}

// Train is the first part of Run.
func (j *Job) Train(ctx context.Context, observe train.Observer) error {
	j.trainer.Observe(observe)
	return j.trainer.Run(ctx)
}

// Finish is what Run does after training. Of the workers of a group one does it.
func (j *Job) Finish(ctx context.Context) (*Result, error) {
	test, mistakes, err := j.test(ctx)
	if err != nil {
		return nil, err
	}
	m, err := j.model()
	if err != nil {
		return nil, err
	}
	r := j.result()
	if err := m.WriteFile(r.Model); err != nil {
		return nil, j.unwritten("model", err)
	}
	r.TestSamples, r.TestAccuracy, r.TestLoss = test.Samples, test.Accuracy(), test.Loss()
	if len(j.Set.Test.Classes()) > train.TopK {
		r.TestTop5 = new(test.TopAccuracy())
	}
	return r, j.report(r, test, mistakes)
}

func (j *Job) result() *Result {
	state := j.State()
	r := &Result{
		Run: j.dir.Path(), Network: j.Net.Name, Data: j.DataName(), Weights: j.Net.NumParams(),
		Steps: state.Step, Epochs: len(state.Epochs), Seconds: (j.before + time.Since(j.started)).Seconds(),
		Stopped: state.Step < j.Steps, BestEpoch: state.Best.Epoch,
		Model: j.dir.File(ModelFile), Curves: j.dir.File("curves.svg"), Report: j.dir.File("report.html"),
	}
	m := j.Memory()
	r.MemoryBytes, r.ArenaBytes, r.ArenaLowerBound = m.Total(), m.Step.Arena, m.Step.LowerBound
	return r
}

// maxMistakes is how many samples that the model gets wrong the report shows.
const maxMistakes = 24

// test measures the model on the test split and collects its first mistakes.
func (j *Job) test(ctx context.Context) (train.Metrics, []report.Mistake, error) {
	set, err := data.Normalize(j.Set.Test, j.Norm)
	if err != nil {
		return train.Metrics{}, nil, err
	}
	var mistakes []report.Mistake
	m, err := j.trainer.Evaluate(ctx, set, func(b *data.Batch, outputs [][]float32) {
		classes := len(outputs[0]) / len(b.Y)
		for i, y := range b.Y {
			if len(mistakes) == maxMistakes {
				return
			}
			if x := report.Judge(b.Indices[i], int(y), outputs[0][i*classes:(i+1)*classes]); x.Guess != x.Label {
				mistakes = append(mistakes, x)
			}
		}
	})
	if err != nil {
		return m, nil, fmt.Errorf("measuring the model on the test split: %w", err)
	}
	return m, mistakes, nil
}

// report writes the curves and the page.
func (j *Job) report(r *Result, test train.Metrics, mistakes []report.Mistake) error {
	epochs := j.State().Epochs
	err := durable.WriteFile(r.Curves, func(w io.Writer) error { return report.Curves(w, epochs) })
	if err != nil {
		return j.unwritten("curves", err)
	}
	if err := j.journal.Sync(); err != nil {
		return j.unwritten("journal", err)
	}
	decisions, err := j.decisions()
	if err != nil {
		return err
	}
	page := report.Page{
		Title: fmt.Sprintf("%s on %s", r.Network, r.Data), Started: j.begun, Seconds: r.Seconds,
		Settings: j.Settings, Model: j.Net, Epochs: epochs, Best: r.BestEpoch, Test: test, Classes: j.Set.Test.Classes(),
		Set: j.Set.Test, Mistakes: mistakes, Decisions: decisions, Memory: j.Memory(),
	}
	return j.unwritten("report", durable.WriteFile(r.Report, page.Write))
}
