package job

import (
	"context"
	"fmt"
	"io"
	"time"

	"millrace.dev/control"
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
	Seconds float64 `json:"seconds"` // of this process
	Stopped bool    `json:"stopped"` // early, by a decision

	TestSamples  int     `json:"test_samples"`
	TestAccuracy float64 `json:"test_accuracy"`
	TestTop5     float64 `json:"test_top5"`
	TestLoss     float64 `json:"test_loss"`

	Model  string `json:"model"` // paths
	Curves string `json:"curves"`
	Report string `json:"report"`
}

// Run trains to the end, measures the model on the test split and writes the results. When the
// context ends it saves a checkpoint and returns the context's error: the run can be resumed.
func (j *Job) Run(ctx context.Context, observe train.Observer) (*Result, error) {
	j.trainer.Observe(observe)
	if err := j.trainer.Run(ctx); err != nil {
		return nil, err
	}
	m, err := j.model()
	if err != nil {
		return nil, err
	}
	r := j.result()
	if err := m.WriteFile(r.Model); err != nil {
		return nil, fmt.Errorf("the model could not be written: %w", err)
	}
	test, mistakes, err := j.test(ctx)
	if err != nil {
		return nil, err
	}
	r.TestSamples, r.TestAccuracy, r.TestTop5, r.TestLoss = test.Samples, test.Accuracy(), test.TopAccuracy(), test.Loss()
	return r, j.report(r, test, mistakes)
}

func (j *Job) result() *Result {
	state := j.State()
	r := &Result{
		Run: j.dir.Path(), Network: j.Net.Name, Data: j.DataName(), Weights: j.Net.NumParams(),
		Steps: state.Step, Epochs: len(state.Epochs), Seconds: time.Since(j.started).Seconds(),
		Stopped: state.Step < j.Steps,
		Model:   j.dir.File(ModelFile), Curves: j.dir.File("curves.svg"), Report: j.dir.File("report.html"),
	}
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
	m, err := j.trainer.Evaluate(ctx, set, func(indices []int, labels []int32, logits []float32) {
		classes := len(logits) / len(labels)
		for i, y := range labels {
			if len(mistakes) == maxMistakes {
				return
			}
			if x := report.Judge(indices[i], int(y), logits[i*classes:(i+1)*classes]); x.Guess != x.Label {
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
	if err := durable.WriteFile(r.Curves, func(w io.Writer) error { return report.Curves(w, epochs) }); err != nil {
		return fmt.Errorf("the curves could not be written: %w", err)
	}
	if err := j.journal.Sync(); err != nil {
		return err
	}
	decisions, _, err := control.ReadDecisions(j.dir.Events())
	if err != nil {
		return err
	}
	page := report.Page{
		Title: fmt.Sprintf("%s on %s", r.Network, r.Data), Started: j.started, Seconds: r.Seconds,
		Settings: j.Settings, Model: j.Net, Epochs: epochs, Test: test, Classes: j.Set.Test.Classes(),
		Set: j.Set.Test, Mistakes: mistakes, Decisions: decisions,
	}
	if err := durable.WriteFile(r.Report, page.Write); err != nil {
		return fmt.Errorf("the report could not be written: %w", err)
	}
	return nil
}
