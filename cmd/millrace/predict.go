package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"millrace.dev/learn/data"
	"millrace.dev/learn/engine/cpu"
	"millrace.dev/learn/saved"
)

func predictCommand(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "predict MODEL IMAGE…",
		Short: "Name what images show, with the probability of each class",
		Long: `Name what images show, with the probability of each class.

MODEL is the file of a model, or the directory of a finished run. Images (PNG, JPEG, GIF, BMP,
TIFF, WebP) are scaled and made grey as the model needs it.`,
		Args: atLeast("MODEL", "IMAGE"),
	}
	top := cmd.Flags().Int("top", 5, "how many classes to name for an image")
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

// prediction is what the model makes of one image.
type prediction struct {
	Image   string        `json:"image"`
	Guesses []saved.Guess `json:"guesses"` // the most probable first
	Note    string        `json:"note,omitempty"`
}

// predict looks at every image; bad says what is wrong with those that cannot be read.
func predict(model string, images []string, top int, invert bool) (list []prediction, bad []error, err error) {
	m, _, err := openModel(model)
	if err != nil {
		return nil, nil, err
	}
	shape := m.Net.InputShape(0)
	if len(shape) != 3 || shape[2] != 1 && shape[2] != 3 {
		return nil, nil, badInputf("model %s takes samples of shape %v, not images", model, shape)
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
	for _, path := range images {
		pix, err := data.ReadImage(path, shape)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		if invert {
			for i, v := range pix {
				pix[i] = 1 - v
			}
		}
		found := prediction{Image: path}
		if m.LooksInverted(pix) {
			found.Note = "its ground is as light as that of the training images was dark, or the other way round; --invert swaps light and dark"
		}
		probabilities, err := p.Predict(pix)
		if err != nil {
			return nil, nil, err
		}
		found.Guesses = m.Best(probabilities, top)
		list = append(list, found)
	}
	return list, bad, nil
}

func printPredictions(w io.Writer, list []prediction) error {
	for i, p := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, p.Image)
		for _, g := range p.Guesses {
			fmt.Fprintf(w, "  %6.2f %%  %s\n", 100*g.Probability, g.Class)
		}
		if p.Note != "" {
			fmt.Fprintf(w, "  note: %s\n", p.Note)
		}
	}
	return nil
}
