package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"millrace.dev/internal/rundir"
	"millrace.dev/learn/data"
	"millrace.dev/learn/engine/cpu"
	"millrace.dev/learn/job"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/saved"
	"millrace.dev/learn/train"
)

func evalCommand(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eval MODEL",
		Short: "Measure a trained model on the test samples of a data set",
		Long: `Measure a trained model on the test samples of a data set.

MODEL is the file of a model, or the directory of a finished run. Without --data a run's model
is measured on the data set that the run was given, read in the same way. Of a file or folder that
does not say which samples are to test with, --test-fraction 1 takes all: give it when the model was
trained on others.`,
		Args: exactly("MODEL"),
	}
	name := cmd.Flags().String("data", "", "`name or path` of the data set (default: the run's)")
	threads := cmd.Flags().Int("threads", 0, "threads to compute with (default: all)")
	reading := readingFlags(cmd, true)
	complete(cmd, map[string][]string{"data": data.Names()})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		options, err := reading()
		if err != nil {
			return err
		}
		if *threads < 0 || *threads > job.MaxThreads {
			return usagef("--threads %d is not from 0 to %d", *threads, job.MaxThreads)
		}
		if err := checkProcessor(); err != nil {
			return err
		}
		m, settings, err := openModel(args[0])
		if err != nil {
			return err
		}
		switch {
		case *name != "":
		case settings != nil:
			for _, flag := range readingNames {
				if cmd.Flags().Changed(flag) {
					return usagef("--%s goes with --data: the run's own data set is read as the run read it", flag)
				}
			}
			*name, options = settings.Data, settings.Options()
		default:
			return usagef("--data is missing: %s does not say where its data set is", args[0])
		}
		e, err := evaluate(cmd.Context(), m, *name, options, *threads)
		if err != nil {
			return err
		}
		e.Model = args[0]
		return c.result(e, e.print)
	}
	return cmd
}

// openModel opens a model's file, or the model of a run, whose settings it gives as well.
func openModel(path string) (*saved.Model, *job.Settings, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		m, err := classifier(path)
		return m, nil, err
	}
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, nil, err
	}
	s, err := job.Load(dir)
	if err != nil {
		return nil, nil, err
	}
	m, err := classifier(dir.File(job.ModelFile))
	if errors.Is(err, fs.ErrNotExist) {
		if dir.Busy() {
			return nil, nil, badInputf("run %s has no model yet: it is still going on", path)
		}
		err = badInputf("run %s has no model yet: it has not ended; go on with millrace train --resume %s", path, shellWord(path))
	}
	return m, &s, err
}

// classifier opens a model that has classes.
func classifier(path string) (*saved.Model, error) {
	m, err := saved.Open(path)
	if err == nil && len(m.Classes) == 0 {
		return nil, badInputf("%s: the model has no classes; only the Go program that made it knows what its outputs mean", path)
	}
	return m, err
}

// evaluation is what eval prints.
type evaluation struct {
	Model    string       `json:"model"`
	Data     string       `json:"data"`
	Samples  int          `json:"samples"`
	Accuracy float64      `json:"accuracy"`
	Top5     *float64     `json:"top5,omitempty"` // nil where there are no more classes than five
	Loss     float64      `json:"loss"`
	Classes  []classScore `json:"classes,omitempty"`

	// Rows are labels, columns what the model takes them for. There are none, and no scores of
	// the classes, when these are more than train.MaxConfusion.
	Confusion [][]int `json:"confusion,omitempty"`
}

type classScore struct {
	Name    string `json:"name"`
	Samples int    `json:"samples"`
	Correct int    `json:"correct"`
	Taken   string `json:"most_taken_for,omitempty"` // the most frequent mistake
}

func evaluate(ctx context.Context, m *saved.Model, name string, options data.Options, threads int) (*evaluation, error) {
	if shape := m.Net.InputShape(0); len(shape) == 3 && options.Height == 0 {
		options.Height, options.Width, options.Color = shape[0], shape[1], shape[2] == 3
	}
	set, err := data.Open(name, options)
	if err != nil {
		return nil, err
	}
	labelled, err := data.Relabel(set.Test, m.Classes)
	if err != nil {
		return nil, badInputf("the model knows the classes %s; data set %s has %s", listed(m.Classes), name, listed(set.Test.Classes()))
	}
	if err := train.Fits(m.Net, labelled); err != nil {
		return nil, err
	}
	test, err := data.Normalize(labelled, m.Norm)
	if err != nil {
		return nil, err
	}
	engine, err := cpu.New(threads)
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	got, err := train.NewEvaluator(engine, m.Net, []nn.Loss{{}}, m.Vectors).Evaluate(ctx, test, nil)
	if err != nil {
		return nil, err
	}
	e := &evaluation{
		Data: name, Samples: got.Samples, Accuracy: got.Accuracy(),
		Loss: got.Loss(), Confusion: got.Confusion,
	}
	if len(m.Classes) > train.TopK {
		e.Top5 = new(got.TopAccuracy())
	}
	for i, row := range got.Confusion {
		e.Classes = append(e.Classes, score(i, row, m.Classes))
	}
	return e, nil
}

// score sums up a row of the confusion matrix.
func score(label int, row []int, names []string) classScore {
	s := classScore{Name: names[label], Correct: row[label]}
	worst := -1
	for i, n := range row {
		s.Samples += n
		if i != label && n > 0 && (worst < 0 || n > row[worst]) {
			worst = i
		}
	}
	if worst >= 0 {
		s.Taken = names[worst]
	}
	return s
}

func listed(names []string) string {
	const most = 12
	text := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}

func (e *evaluation) print(w io.Writer) error {
	fmt.Fprintf(w, "%s on %s: %.2f %% of %s test samples right%s, loss %.4g\n\n",
		e.Model, e.Data, 100*e.Accuracy, count(int64(e.Samples)), inTop(e.Top5), e.Loss)
	if len(e.Classes) == 0 {
		_, err := fmt.Fprintf(w, "with more than %d classes they are not shown one by one\n", train.MaxConfusion)
		return err
	}
	var rows [][]string
	for _, c := range e.Classes {
		share := "-"
		if c.Samples > 0 {
			share = fmt.Sprintf("%.1f %%", 100*float64(c.Correct)/float64(c.Samples))
		}
		rows = append(rows, []string{c.Name, count(int64(c.Samples)), share, c.Taken})
	}
	return table(w, []string{"CLASS", "SAMPLES", "RIGHT", "MOST TAKEN FOR"}, rows)
}
