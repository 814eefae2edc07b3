package train

import (
	"fmt"
	"time"

	"millrace.dev/control"
	"millrace.dev/learn/data"
	"millrace.dev/learn/engine"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/optim"
)

// Config says what to train, on what, and how.
type Config struct {
	Model     *nn.Model
	Loss      nn.Loss   // of a model with one output; cross-entropy by default
	Losses    []nn.Loss // of each of several outputs, in place of Loss; their sum is lowered
	Optimizer optim.Optimizer
	Schedule  optim.Schedule
	Train     data.Dataset // normalised as the network wants it; a data.Targeted one for other targets than a class
	Valid     data.Dataset // nil for none
	Augment   []data.Augment
	Batch     int
	Epochs    int // where to stop; 0 for no bound
	Steps     int // where to stop; 0 for no bound
	Seed      uint64

	Engine  engine.Engine
	Threads ThreadSetter // how the number of threads is changed; nil leaves it alone
	Choices []int        // numbers of threads to choose from, ascending; fewer than two for no choice
	Group   Group        // the workers to train with; nil for none

	// Dir is where checkpoints go; "" for none. One is written after Every steps or EveryTime,
	// whichever comes first (0 for never), and when the run ends.
	Dir       string
	Every     int
	EveryTime time.Duration

	// Journal receives signals and decisions; nil for one in memory, with which a run that has
	// policies cannot be resumed.
	Journal  *control.Journal
	Plateau  *control.Plateau   // lowers the setting SettingRateFactor; nil for none
	Stop     *control.EarlyStop // changes the setting SettingTraining, and makes the run end in its best weights; nil for none
	Observer Observer           // nil for none
}

// ThreadSetter is an engine whose number of threads can be changed between steps.
type ThreadSetter interface{ SetThreads(n int) }

// The names under which the trainer's signals and settings appear in a run's journal. The
// losses and accuracies are measured at an epoch's end, so that policies on them decide the
// same in every run; the progress signals are measured about twice a second; the time elapsed
// is what a process says of itself at its end.
const (
	SignalTrainLoss     = "training loss"
	SignalTrainAccuracy = "training accuracy"
	SignalValidLoss     = "validation loss"
	SignalValidAccuracy = "validation accuracy"
	SignalThroughput    = "throughput"
	SignalRunningLoss   = "running loss"
	SignalElapsed       = "elapsed"
	SignalWait          = "wait" // in a group: at the end of a step, until all have decided it

	SettingRateFactor = "learning rate factor"
	SettingTraining   = "training"
	SettingThreads    = "threads"
)

// The settings that a group decides about.
const (
	SettingWorkers   = "workers"       // how many take part
	SettingReduction = "reduction"     // how gradients are added up
	SettingSkipped   = "skipped steps" // because of numbers that are not finite
)

// Observer is told how a run goes. Its methods are called between steps, on the goroutine of
// Run.
type Observer interface {
	// Window reports on the steps since the last call, about twice a second.
	Window(Progress)
	// Epoch reports on a finished epoch.
	Epoch(Epoch)
	// WriteFailed reports a checkpoint, or part of the journal, that could not be written;
	// training goes on.
	WriteFailed(err error)
}

// Progress of a run.
type Progress struct {
	Step     int
	Steps    int // in all, 0 when unknown
	Epoch    int // that is running, counted from 1
	Epochs   int // in all, 0 when unknown
	Samples  int // of this epoch so far
	Total    int // of an epoch
	Loss     float64
	Accuracy float64
	Rate     float64 // samples a second
	LR       float64
}

// Epoch is what is known at an epoch's end. The last one of a run that ends after a number of
// steps may be a part of an epoch.
type Epoch struct {
	Number   int           `json:"epoch"` // counted from 1
	Step     int           `json:"step"`
	LR       float64       `json:"learning_rate"` // of the step after it
	Train    Metrics       `json:"train"`         // measured during the epoch, while the weights changed
	Valid    Metrics       `json:"valid"`         // measured after it; zero Samples when there is no validation set
	Duration time.Duration `json:"-"`             // of the part that this process trained; no part of a run's state
}

func (c *Config) check() error {
	switch {
	case c.Model == nil || c.Train == nil || c.Engine == nil || c.Schedule == nil:
		return fmt.Errorf("train: a model, a training set, a schedule and an engine are needed")
	case c.Batch < 1:
		return configErrorf("the batch size must be at least 1, not %d", c.Batch)
	case c.Train.Len() == 0:
		return configErrorf("the training set is empty")
	case c.Epochs < 0 || c.Steps < 0 || c.Epochs == 0 && c.Steps == 0:
		return configErrorf("a number of epochs or steps is needed")
	case len(c.Losses) > 0 && c.Loss != (nn.Loss{}):
		return configErrorf("both a loss and losses are given")
	case len(c.losses()) != c.Model.NumOutputs():
		return configErrorf("model %s has %d outputs, for which %d losses are given", c.Model.Name, c.Model.NumOutputs(), len(c.losses()))
	}
	for _, set := range []data.Dataset{c.Train, c.Valid} {
		if set == nil {
			continue
		}
		if err := fits(c.Model, c.losses(), set); err != nil {
			return err
		}
	}
	return nil
}

// losses are those of the model's outputs.
func (c *Config) losses() []nn.Loss {
	if len(c.Losses) > 0 {
		return c.Losses
	}
	return []nn.Loss{c.Loss}
}

// ConfigError says what does not fit in a configuration.
type ConfigError struct{ Reason string }

func (e *ConfigError) Error() string { return e.Reason }

// BadInput marks the error as the fault of what was asked.
func (e *ConfigError) BadInput() bool { return true }

func configErrorf(format string, args ...any) error {
	return &ConfigError{fmt.Sprintf(format, args...)}
}
