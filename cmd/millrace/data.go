package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"millrace.dev/learn/data"
)

func dataCommand(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "List, describe and fetch data sets",
	}
	cmd.AddCommand(dataListCommand(c), dataInfoCommand(c), dataFetchCommand(c))
	return cmd
}

func dataListCommand(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the data sets known by name and where each was found",
		RunE: func(*cobra.Command, []string) error {
			list := data.List()
			return c.result(list, func(w io.Writer) error {
				var rows [][]string
				for _, k := range list {
					found := k.Origin
					if found == "" {
						found = "not here"
					}
					rows = append(rows, []string{k.Name, found, k.About})
				}
				if err := table(w, []string{"NAME", "FOUND", "WHAT"}, rows); err != nil {
					return err
				}
				for _, k := range list {
					if k.Advice != "" {
						if _, err := fmt.Fprintf(w, "\nTo get %s: %s.\n", k.Name, k.Advice); err != nil {
							return err
						}
					}
				}
				return nil
			})
		},
	}
}

func dataInfoCommand(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "info NAME",
		Short: "Describe a data set: counts, shape, classes and their balance, mean and deviation",
		Long: `Describe a data set: counts, shape, classes and their balance, mean and deviation.

NAME is one that "millrace data list" shows, or a path: a folder of images with one
folder per class (in train and test, or not), a folder with MNIST's four files, a .csv,
.tsv or .npz file, or a file of samples in .npy or IDX format with its labels beside it.`,
		Args:      exactly("NAME"),
		ValidArgs: data.Names(),
	}
	options := readingFlags(cmd, false)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		opt, err := options()
		if err != nil {
			return err
		}
		info, err := describe(args[0], opt)
		if err != nil {
			return err
		}
		return c.result(info, info.print)
	}
	return cmd
}

// readingNames are the flags that readingFlags adds.
var readingNames = []string{"image-size", "color", "skip-bad", "label-column", "test-fraction"}

// readingFlags adds the flags that say how a data set is read from files. The function it
// returns gives their values once the command line is read. All tells that each sample of a
// file may be one to test with.
func readingFlags(cmd *cobra.Command, all bool) func() (data.Options, error) {
	var opt data.Options
	var imageSize string
	f := cmd.Flags()
	f.StringVar(&imageSize, "image-size", "", "scale the images of a folder to `HEIGHTxWIDTH` (default: as the first image, 64 at most)")
	f.BoolVar(&opt.Color, "color", false, "keep the colours of the images of a folder")
	f.BoolVar(&opt.SkipBad, "skip-bad", false, "leave out images that cannot be read")
	f.StringVar(&opt.LabelColumn, "label-column", "", "`column` of a CSV file with the label: a heading, or a number from 1")
	fraction := "part of the samples to test with, when the files name none"
	if all {
		fraction += "; 1 for all"
	}
	f.Float64Var(&opt.TestFraction, "test-fraction", 0.2, fraction)
	return func() (data.Options, error) {
		if !(opt.TestFraction > 0 && opt.TestFraction < 1) && !(all && opt.TestFraction == 1) {
			return opt, usagef("--test-fraction %v is not between 0 and 1", opt.TestFraction)
		}
		if imageSize == "" {
			return opt, nil
		}
		height, width, _ := strings.Cut(imageSize, "x")
		var failed [2]error
		opt.Height, failed[0] = strconv.Atoi(height)
		opt.Width, failed[1] = strconv.Atoi(width)
		if failed[0] != nil || failed[1] != nil || opt.Height <= 0 || opt.Width <= 0 {
			return opt, usagef("--image-size %q is not a height and a width, such as 28x28", imageSize)
		}
		return opt, nil
	}
}

// dataInfo describes a data set.
type dataInfo struct {
	Name    string       `json:"name"`
	Origin  string       `json:"origin"`
	Train   int          `json:"train"`
	Test    int          `json:"test"`
	Shape   []int        `json:"shape"`
	Storage string       `json:"storage"`
	Norm    data.Norm    `json:"norm"` // of the training split
	Classes []classCount `json:"classes"`
	Skipped []string     `json:"skipped,omitempty"`
}

type classCount struct {
	Name  string `json:"name"`
	Train int    `json:"train"`
	Test  int    `json:"test"`
}

func describe(name string, opt data.Options) (*dataInfo, error) {
	set, err := data.Open(name, opt)
	if err != nil {
		return nil, err
	}
	norm, err := data.MeasureNorm(set.Train)
	if err != nil {
		return nil, err
	}
	train, err := data.LabelCounts(set.Train)
	if err != nil {
		return nil, err
	}
	test, err := data.LabelCounts(set.Test)
	if err != nil {
		return nil, err
	}
	info := &dataInfo{
		Name: set.Name, Origin: set.Origin, Train: set.Train.Len(), Test: set.Test.Len(),
		Shape: set.Train.Shape(), Storage: set.Train.Storage().String(), Norm: norm, Skipped: set.Skipped,
	}
	for i, class := range set.Train.Classes() {
		info.Classes = append(info.Classes, classCount{class, train[i], test[i]})
	}
	return info, nil
}

func (d *dataInfo) print(w io.Writer) error {
	shape := make([]string, len(d.Shape))
	for i, n := range d.Shape {
		shape[i] = strconv.Itoa(n)
	}
	fmt.Fprintf(w, "%s (%s)\n", d.Name, d.Origin)
	fmt.Fprintf(w, "samples    %s to train, %s to test\n", count(int64(d.Train)), count(int64(d.Test)))
	fmt.Fprintf(w, "shape      %s, %s\n", strings.Join(shape, "×"), d.Storage)
	fmt.Fprintf(w, "mean       %s\n", figures(d.Norm.Mean))
	fmt.Fprintf(w, "deviation  %s\n\n", figures(d.Norm.Std))
	var rows [][]string
	for _, c := range d.Classes {
		share := fmt.Sprintf("%.1f %%", 100*float64(c.Train)/float64(d.Train))
		rows = append(rows, []string{c.Name, count(int64(c.Train)), share, count(int64(c.Test))})
	}
	if err := table(w, []string{"CLASS", "TRAIN", "SHARE", "TEST"}, rows); err != nil {
		return err
	}
	for _, s := range d.Skipped {
		if _, err := fmt.Fprintln(w, "left out:", s); err != nil {
			return err
		}
	}
	return nil
}

// figures writes the first few numbers of a list.
func figures(list []float32) string {
	const most = 8
	var parts []string
	for _, v := range list[:min(len(list), most)] {
		parts = append(parts, fmt.Sprintf("%.4g", v))
	}
	if len(list) > most {
		parts = append(parts, fmt.Sprintf("and %d more", len(list)-most))
	}
	return strings.Join(parts, ", ")
}

func dataFetchCommand(c *console) *cobra.Command {
	return &cobra.Command{
		Use:       "fetch NAME",
		Short:     "Download a data set known by name into the user's cache and check it",
		Args:      exactly("NAME"),
		ValidArgs: data.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			var bar *progress
			dir, err := data.Fetch(cmd.Context(), args[0], func(file string, done, total int64) {
				if bar == nil {
					bar = c.progress("fetching", "bytes", total)
				}
				if done == total {
					bar.finish(done, file)
				} else {
					bar.set(done, file)
				}
			})
			if err != nil {
				return err
			}
			fetched := map[string]string{"name": args[0], "dir": dir}
			return c.result(fetched, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s is in %s\n", args[0], dir)
				return err
			})
		},
	}
}
