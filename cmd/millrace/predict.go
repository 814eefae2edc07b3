package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"millrace.dev/learn/data"
	"millrace.dev/learn/engine/cpu"
	"millrace.dev/learn/saved"
)

func predictCommand(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "predict MODEL FILE…",
		Short: "Name what images show or rows are, with the probability of each class",
		Long: `Name what images show or rows of numbers are, with the probability of each class.

MODEL is the file of a model, or the directory of a finished run. Images (PNG, JPEG, GIF, BMP,
TIFF, WebP) are scaled and made grey as the model needs it. A model of rows takes .csv and .tsv
files with the columns that it was trained on, in their order; a label column is left out. Any
model takes .npy files of one sample, or of several along the first axis.`,
		Args: atLeast("MODEL", "FILE"),
	}
	top := cmd.Flags().Int("top", 5, "how many classes to name for an image or row")
	invert := cmd.Flags().Bool("invert", false, "swap light and dark before the model sees an image")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if *top < 1 {
			return usagef("--top %d is not at least 1", *top)
		}
		if err := checkProcessor(); err != nil {
			return err
		}
		list, bad, err := predict(args[0], args[1:], *top, *invert)
		if err != nil {
			return err
		}
		if len(list) > 0 {
			if err := c.result(list, func(w io.Writer) error { return printPredictions(w, list) }); err != nil {
				return err
			}
		}
		if len(bad) == 0 {
			return nil
		}
		for _, err := range bad[1:] {
			c.complain(err)
		}
		return bad[0]
	}
	return cmd
}

// atLeast makes a command take the named arguments and any number more of the last.
func atLeast(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return fmt.Errorf("%s: %s is missing", cmd.CommandPath(), names[len(args)])
		}
		for i, arg := range args {
			if arg == "" {
				return fmt.Errorf("%s: %s is empty", cmd.CommandPath(), names[min(i, len(names)-1)])
			}
		}
		return nil
	}
}

// prediction is what the model makes of one image or row.
type prediction struct {
	Image   string        `json:"image,omitempty"`
	Table   string        `json:"table,omitempty"`
	Row     int           `json:"row,omitempty"` // of the table, from 1, without its heading
	Guesses []saved.Guess `json:"guesses"`       // the most probable first
	Note    string        `json:"note,omitempty"`
}

// predict looks at every file; bad says what is wrong with those that cannot be read.
func predict(model string, files []string, top int, invert bool) (list []prediction, bad []error, err error) {
	m, settings, err := openModel(model)
	if err != nil {
		return nil, nil, err
	}
	shape := m.Net.InputShape(0)
	tables := len(shape) == 1
	if !tables && (len(shape) != 3 || shape[2] != 1 && shape[2] != 3) {
		return nil, nil, badInputf("model %s takes samples of shape %v, neither images nor rows", model, shape)
	}
	if tables && invert {
		return nil, nil, usagef("--invert is for images; model %s takes rows of %d numbers", model, shape[0])
	}
	label := ""
	if settings != nil {
		label = settings.LabelColumn
	}
	engine, err := cpu.New(0)
	if err != nil {
		return nil, nil, err
	}
	defer engine.Close()
	p, err := saved.NewPredictor(engine, m)
	if err != nil {
		return nil, nil, err
	}
	for _, path := range files {
		samples, rows, err := readSamples(path, shape, label)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		if invert {
			swapLight(samples)
		}
		found, err := guess(m, p, samples, top)
		if err != nil {
			return nil, nil, err
		}
		for i := range found {
			if rows {
				found[i].Table, found[i].Row = path, i+1
			} else {
				found[i].Image = path
			}
		}
		list = append(list, found...)
	}
	return list, bad, nil
}

// guess names samples that stand one after the other.
func guess(m *saved.Model, p *saved.Predictor, samples []float32, top int) ([]prediction, error) {
	var list []prediction
	shape := m.Net.InputShape(0)
	for sample := range slices.Chunk(samples, shape.Elems()) {
		probabilities, err := p.Predict(sample)
		if err != nil {
			return nil, err
		}
		found := prediction{Guesses: m.Best(probabilities, top)}
		if len(shape) == 3 && m.LooksInverted(sample) {
			found.Note = "its ground is as light as that of the training images was dark, or the other way round; --invert swaps light and dark"
		}
		list = append(list, found)
	}
	return list, nil
}

// readSamples reads the samples in a file, one after the other: rows, or an image.
func readSamples(path string, shape []int, label string) (samples []float32, rows bool, err error) {
	ending := strings.ToLower(filepath.Ext(path))
	switch {
	case ending == ".npy":
		samples, err = data.ReadSamples(path, shape)
		return samples, true, err
	case len(shape) == 3:
		samples, err = data.ReadImage(path, shape)
		return samples, false, err
	case ending == ".csv", ending == ".tsv":
		samples, err = data.ReadRows(path, shape[0], label)
		return samples, true, err
	}
	return nil, true, badInputf("%s: the model takes rows of %d numbers; want a .csv, .tsv or .npy file", path, shape[0])
}

// swapLight swaps light and dark.
func swapLight(pix []float32) {
	for i, v := range pix {
		pix[i] = 1 - v
	}
}

func printPredictions(w io.Writer, list []prediction) error {
	for i, p := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if p.Row > 0 {
			fmt.Fprintf(w, "%s, row %d\n", p.Table, p.Row)
		} else {
			fmt.Fprintln(w, p.Image)
		}
		for _, g := range p.Guesses {
			fmt.Fprintf(w, "  %6.2f %%  %s\n", 100*g.Probability, g.Class)
		}
		if p.Note != "" {
			fmt.Fprintf(w, "  note: %s\n", p.Note)
		}
	}
	return nil
}
