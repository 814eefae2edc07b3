package main

import (
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
		write, err := generator(example, made)
		if err != nil {
			return err
		}
		if out == "" {
			return write(c.out)
		}
		return durable.WriteFile(out, write)
	}
	return cmd
}

func generator(example string, made survey.Field) (func(io.Writer) error, error) {
	switch example {
	case "stations":
		return func(w io.Writer) error { _, err := w.Write(examples.Stations); return err }, nil
	case "":
	default:
		return nil, usagef("--example %q is not stations", example)
	}
	sensors, err := survey.Generate(made)
	if err != nil {
		return nil, usagef("%w", err)
	}
	return func(w io.Writer) error { return survey.WriteCSV(w, sensors) }, nil
}
