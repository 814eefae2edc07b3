package main

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"millrace.dev/learn/data"
	"millrace.dev/learn/job"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/optim"
)

// trainFlags adds the flags of a run's settings. The function it returns gives the settings
// once the command line is read: flags before the configuration file before defaults.
func trainFlags(cmd *cobra.Command) func() (job.Settings, error) {
	s := job.Defaults()
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&s.Model, "model", s.Model, "`name` of the network: "+strings.Join(nn.ZooNames(), ", "))
	f.StringVar(&s.Data, "data", s.Data, "`name or path` of the data set; see millrace data --help")
	f.IntVar(&s.Epochs, "epochs", s.Epochs, "passes over the training samples (default 6, or no bound when --steps is given)")
	f.IntVar(&s.Steps, "steps", s.Steps, "batches to train on at most")
	f.IntVar(&s.Batch, "batch", s.Batch, "samples a step")
	f.StringVar(&s.Optimizer, "optimizer", s.Optimizer, "rule of the updates: "+strings.Join(optim.Names(), ", "))
	f.Float64Var(&s.LR, "lr", s.LR, "highest learning rate (default: what suits the optimizer)")
	f.StringVar(&s.Schedule, "schedule", s.Schedule, "how the learning rate goes on: "+strings.Join(job.Schedules(), ", "))
	f.IntVar(&s.WarmUp, "warm-up", s.WarmUp, "`steps` over which the learning rate rises at first")
	f.Float64Var(&s.WeightDecay, "weight-decay", s.WeightDecay, "pull on the weights, not on biases (default: the optimizer's own)")
	f.Float64Var(&s.Clip, "clip", s.Clip, "bound on the norm of all gradients together (default: none)")
	f.Float64Var(&s.Smoothing, "smoothing", s.Smoothing, "share of each label that is spread over all classes")
	f.StringSliceVar(&s.Augment, "augment", s.Augment, "random changes of the images: "+strings.Join(job.Augmentations(), ", "))
	f.Float64Var(&s.ValidFraction, "valid-fraction", s.ValidFraction, "part of the training samples held out to watch the training")
	f.IntVar(&s.EarlyStop, "early-stop", s.EarlyStop, "stop after so many `epochs` without a better validation loss")
	f.Uint64Var(&s.Seed, "seed", s.Seed, "of every random choice; the same seed gives the same weights")
	f.IntVar(&s.Threads, "threads", s.Threads, "threads to compute with (default: found out during the run)")
	f.DurationVar(&s.CheckpointEvery, "checkpoint-every", s.CheckpointEvery, "time between checkpoints; 0 for one at the end alone")
	config := f.String("config", "", "read settings from a YAML `file`; its keys are the names of these flags")
	reading := readingFlags(cmd)
	complete(cmd, map[string][]string{
		"model": nn.ZooNames(), "data": data.Names(), "schedule": job.Schedules(), "augment": job.Augmentations(),
		"optimizer": optim.Names(),
	})
	return func() (job.Settings, error) {
		if *config != "" {
			if err := applyConfig(cmd, *config); err != nil {
				return s, err
			}
		}
		options, err := reading()
		s.Reading = job.ReadingOf(options)
		return s, err
	}
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
	Model           *string        `yaml:"model"`
	Data            *string        `yaml:"data"`
	Epochs          *int           `yaml:"epochs"`
	Steps           *int           `yaml:"steps"`
	Batch           *int           `yaml:"batch"`
	Optimizer       *string        `yaml:"optimizer"`
	LR              *float64       `yaml:"lr"`
	Schedule        *string        `yaml:"schedule"`
	WarmUp          *int           `yaml:"warm-up"`
	WeightDecay     *float64       `yaml:"weight-decay"`
	Clip            *float64       `yaml:"clip"`
	Smoothing       *float64       `yaml:"smoothing"`
	Augment         *[]string      `yaml:"augment"`
	ValidFraction   *float64       `yaml:"valid-fraction"`
	EarlyStop       *int           `yaml:"early-stop"`
	Seed            *uint64        `yaml:"seed"`
	Threads         *int           `yaml:"threads"`
	CheckpointEvery *time.Duration `yaml:"checkpoint-every"`
	ImageSize       *string        `yaml:"image-size"`
	Color           *bool          `yaml:"color"`
	SkipBad         *bool          `yaml:"skip-bad"`
	LabelColumn     *string        `yaml:"label-column"`
	TestFraction    *float64       `yaml:"test-fraction"`
}

// configKeys are the keys that the file may have.
func configKeys() map[string]bool {
	keys := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[trainConfig]()) {
		keys[f.Tag.Get("yaml")] = true
	}
	return keys
}

// applyConfig sets the flags that the file has a value for and the command line has not.
func applyConfig(cmd *cobra.Command, path string) error {
	var file trainConfig
	if err := readConfig(path, &file); err != nil {
		return err
	}
	given := reflect.ValueOf(file)
	for i := range given.NumField() {
		name, value := given.Type().Field(i).Tag.Get("yaml"), given.Field(i)
		if value.IsNil() || cmd.Flags().Changed(name) {
			continue
		}
		text := fmt.Sprint(value.Elem().Interface())
		if list, ok := value.Elem().Interface().([]string); ok {
			text = strings.Join(list, ",")
		}
		if err := cmd.Flags().Set(name, text); err != nil {
			return badInputf("%s: %s: %w", path, name, err)
		}
	}
	return nil
}
