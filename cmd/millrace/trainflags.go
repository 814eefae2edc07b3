package main

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"millrace.dev/learn/data"
	"millrace.dev/learn/job"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/optim"
)

// asked is what a command line and a configuration file ask of a run.
type asked struct {
	cmd      *cobra.Command
	flags    job.Settings
	lr       float64
	decay    float64
	batch    int
	config   string
	places   places // of the settings that are from the file
	readFrom func() (data.Options, error)
}

// trainFlags adds the flags of a run's settings.
func trainFlags(cmd *cobra.Command) *asked {
	a := &asked{cmd: cmd, flags: job.Defaults(), places: places{}}
	s, f := &a.flags, cmd.Flags()
	f.SortFlags = false
	f.StringVar(&s.Model, "model", s.Model, "`name` of the network: "+strings.Join(nn.ZooNames(), ", "))
	f.StringVar(&s.Data, "data", s.Data, "`name or path` of the data set; see millrace data --help")
	f.IntVar(&s.Epochs, "epochs", s.Epochs, "passes over the training samples; no bound when --steps alone is given")
	f.IntVar(&s.Steps, "steps", s.Steps, "batches to train on at most")
	f.IntVar(&a.batch, "batch", 0, fmt.Sprintf("samples a step (default: %d, fewer where there are few samples)", s.Batch))
	f.StringVar(&s.Optimizer, "optimizer", s.Optimizer, "rule of the updates: "+strings.Join(optim.Names(), ", "))
	f.Float64Var(&a.lr, "lr", 0, "highest learning rate (default: what suits the optimizer)")
	f.StringVar(&s.Schedule, "schedule", s.Schedule, "how the learning rate goes on: "+strings.Join(job.Schedules(), ", "))
	f.IntVar(&s.WarmUp, "warm-up", s.WarmUp, "`steps` over which the learning rate rises at first")
	f.Float64Var(&a.decay, "weight-decay", 0, "pull on the weights, not on biases (default: the optimizer's own)")
	f.Float64Var(&s.Clip, "clip", s.Clip, "bound on the norm of all gradients together (default: none)")
	f.Float64Var(&s.Smoothing, "smoothing", s.Smoothing, "share of each label that is spread over all classes")
	f.StringSliceVar(&s.Augment, "augment", s.Augment, "random changes of the images: "+strings.Join(job.Augmentations(), ", "))
	f.Float64Var(&s.ValidFraction, "valid-fraction", s.ValidFraction, "part of the training samples held out to watch the training")
	f.IntVar(&s.EarlyStop, "early-stop", s.EarlyStop, "stop after so many `epochs` without a better validation loss, and keep the best weights")
	f.Uint64Var(&s.Seed, "seed", s.Seed, "of every random choice; the same seed gives the same weights")
	f.IntVar(&s.Threads, "threads", s.Threads, "threads to compute with (default: found out during the run)")
	f.DurationVar(&s.CheckpointEvery, "checkpoint-every", s.CheckpointEvery, "time between checkpoints; 0 for one at the end alone")
	f.StringVar(&a.config, "config", "", "read settings from a YAML `file`; its keys are the names of these flags")
	a.readFrom = readingFlags(cmd, false)
	complete(cmd, map[string][]string{
		"model": nn.ZooNames(), "data": data.Names(), "schedule": job.Schedules(), "augment": job.Augmentations(),
		"optimizer": optim.Names(),
	})
	return a
}

// settings are what was asked for, once the command line is read: flags before the configuration
// file before defaults.
func (a *asked) settings() (job.Settings, error) {
	if a.config != "" {
		if err := a.applyConfig(); err != nil {
			return a.flags, err
		}
	}
	s, given := a.flags, a.cmd.Flags().Changed
	if given("steps") && !given("epochs") {
		s.Epochs = 0
	}
	s.FitBatch = !given("batch")
	if given("batch") {
		s.Batch = a.batch
	}
	if given("lr") {
		s.LR = &a.lr
	}
	if given("weight-decay") {
		s.WeightDecay = &a.decay
	}
	options, err := a.readFrom()
	s.Reading = job.ReadingOf(options)
	return s, a.blame(err)
}

// blame finds out whose fault a bad value is: that of the configuration file, at a place in it,
// or of the command line. What names a model is bad input there as well, like the name of a file.
func (a *asked) blame(err error) error {
	var bad *job.SettingError
	var usage *usageError
	switch {
	case errors.As(err, &bad) && a.places[bad.Name] != "":
		return badInputf("%s: %w", a.places[bad.Name], err)
	case errors.As(err, &bad) && bad.Name != "model":
		return &usageError{err}
	case errors.As(err, &usage):
		for name, place := range a.places {
			if text, of := strings.CutPrefix(err.Error(), "--"+name+" "); of {
				return badInputf("%s: %s: %s", place, name, text)
			}
		}
	}
	return err
}

// complete offers values of flags to the shell.
func complete(cmd *cobra.Command, values map[string][]string) {
	for name, list := range values {
		// It fails only for a flag that does not exist.
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(list, cobra.ShellCompDirectiveDefault))
	}
}

// trainConfig is the configuration file of train: a key for each flag.
type trainConfig struct {
	Model           *string   `yaml:"model"`
	Data            *string   `yaml:"data"`
	Epochs          *int      `yaml:"epochs"`
	Steps           *int      `yaml:"steps"`
	Batch           *int      `yaml:"batch"`
	Optimizer       *string   `yaml:"optimizer"`
	LR              *float64  `yaml:"lr"`
	Schedule        *string   `yaml:"schedule"`
	WarmUp          *int      `yaml:"warm-up"`
	WeightDecay     *float64  `yaml:"weight-decay"`
	Clip            *float64  `yaml:"clip"`
	Smoothing       *float64  `yaml:"smoothing"`
	Augment         *[]string `yaml:"augment"`
	ValidFraction   *float64  `yaml:"valid-fraction"`
	EarlyStop       *int      `yaml:"early-stop"`
	Seed            *uint64   `yaml:"seed"`
	Threads         *int      `yaml:"threads"`
	CheckpointEvery *string   `yaml:"checkpoint-every"`
	ImageSize       *string   `yaml:"image-size"`
	Color           *bool     `yaml:"color"`
	SkipBad         *bool     `yaml:"skip-bad"`
	LabelColumn     *string   `yaml:"label-column"`
	TestFraction    *float64  `yaml:"test-fraction"`
}

// applyConfig sets the flags that the file has a value for and the command line has not.
func (a *asked) applyConfig() error {
	var file trainConfig
	found, err := readConfig(a.config, &file)
	if err != nil {
		return err
	}
	given := reflect.ValueOf(file)
	for i := range given.NumField() {
		name, value := given.Type().Field(i).Tag.Get("yaml"), given.Field(i)
		if value.IsNil() || a.cmd.Flags().Changed(name) {
			continue
		}
		a.places[name] = cmp.Or(found[name], a.config)
		text := fmt.Sprint(value.Elem().Interface())
		if list, ok := value.Elem().Interface().([]string); ok {
			text = strings.Join(list, ",")
		} else if text == "" {
			return badInputf("%s: %s is empty", a.places[name], name)
		}
		if err := a.cmd.Flags().Set(name, text); err != nil {
			return badInputf("%s: %q is not %s", a.places[name], text, flagWords(a.cmd.Flags().Lookup(name).Value.Type()))
		}
	}
	return nil
}
