package main

import (
	"bytes"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"millrace.dev/field/examples"
	"millrace.dev/field/survey"
	"millrace.dev/internal/durable"
)

func fieldGenerateCommand(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Write a made-up field, or real positions, as a CSV file of sensors",
	}
	var made survey.Field
	out, example := "", ""
	f := cmd.Flags()
	f.StringVar(&made.Shape, "shape", "square", "outline: "+strings.Join(survey.Shapes, ", "))
	f.IntVarP(&made.N, "sensors", "n", 200, "`number` of sensors")
	f.Float64Var(&made.Side, "side", 400, "`metres` of the square around the field")
	f.StringVar(&made.Weights, "weights", "uniform", "packets a round: "+strings.Join(survey.Weights, ", "))
	f.Float64Var(&made.Energy, "energy", 20_000, "`joules` of each sensor")
	f.Uint64Var(&made.Seed, "seed", 1, "`number` from which random choices follow")
	f.StringVar(&example, "example", "", "real positions instead: stations (226 weather stations)")
	f.StringVarP(&out, "out", "o", "", "`file` to write (default: standard output)")
	cmd.RunE = func(*cobra.Command, []string) error {
		write, sensors, err := generator(example, made)
		switch {
		case err != nil:
			return err
		case out == "" && c.json:
			return usagef("--json needs -o: without it the sensors themselves are what is printed")
		case out == "":
			return write(c.out)
		}
		if err := durable.WriteFile(out, write); err != nil {
			return err
		}
		return c.result(generated{out, sensors}, func(io.Writer) error { return nil })
	}
	return cmd
}

// generated is printed with --json.
type generated struct {
	Out     string `json:"out"`
	Sensors int    `json:"sensors"`
}

// generator returns what writes the sensors, and their number.
func generator(example string, made survey.Field) (write func(io.Writer) error, number int, err error) {
	switch example {
	case "stations":
		lines := bytes.Count(examples.Stations, []byte("\n"))
		return func(w io.Writer) error { _, err := w.Write(examples.Stations); return err }, lines - 1, nil
	case "":
	default:
		return nil, 0, usagef("--example %q is not stations", example)
	}
	sensors, err := survey.Generate(made)
	if err != nil {
		return nil, 0, usagef("%w", err)
	}
	return func(w io.Writer) error { return survey.WriteCSV(w, sensors) }, len(sensors), nil
}
