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
	Loss      nn.Loss
	Optimizer optim.Optimizer
	Schedule  optim.Schedule
	Train     data.Dataset // normalised as the network wants it
	Valid     data.Dataset // nil for none
	Augment   []data.Augment
	Batch     int
	Epochs    int // where to stop; 0 for no bound
	Steps     int // where to stop; 0 for no bound
	Seed      uint64

	Engine  engine.Engine
	Threads ThreadSetter // how the number of threads is changed; nil leaves it alone
	Choices []int        // numbers of threads to choose from, ascending; fewer than two for no choice

	// Dir is where checkpoints go; "" for none. One is written after Every steps or EveryTime,
	// whichever comes first (0 for never), at each epoch's end, and when the run ends.
	Dir       string
	Every     int
	EveryTime time.Duration

	Journal  *control.Journal
	Plateau  *control.Plateau   // lowers the setting LearningRateFactor; nil for none
	Stop     *control.EarlyStop // nil for none
	Observer Observer           // nil for none
}

// ThreadSetter is an engine whose number of threads can be changed between steps.
type ThreadSetter interface{ SetThreads(n int) }

// The names under which the trainer's signals and settings appear in a run's journal.
const (
	SignalTrainLoss     = "training loss"
	SignalTrainAccuracy = "training accuracy"
	SignalValidLoss     = "validation loss"
	SignalValidAccuracy = "validation accuracy"
	SignalThroughput    = "throughput"
	SettingRateFactor   = "learning rate factor"
	SettingTraining     = "training"
	SettingThreads      = "threads"
)

// Observer is told how a run goes. Its methods are called between steps, on the goroutine of
// Run.
type Observer interface {
	// Window reports on the steps since the last call, about twice a second.
	Window(Progress)
	// Epoch reports on a finished epoch.
	Epoch(Epoch)
	// CheckpointFailed reports a checkpoint that could not be written; training goes on.
	CheckpointFailed(err error)
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

// Epoch is what is known at an epoch's end.
type Epoch struct {
	Number   int // counted from 1
	Step     int
	LR       float64
	Train    Metrics // measured during the epoch, while the weights changed
	Valid    Metrics // measured after it; zero Samples when there is no validation set
	Duration time.Duration
}

func (c *Config) check() error {
	switch {
	case c.Model == nil || c.Train == nil || c.Engine == nil || c.Schedule == nil:
		return fmt.Errorf("train: a model, a training set, a schedule and an engine are needed")
	case c.Batch < 1:
		return &ConfigError{fmt.Sprintf("the batch size must be at least 1, not %d", c.Batch)}
	case c.Train.Len() == 0:
		return &ConfigError{"the training set is empty"}
	case c.Epochs < 0 || c.Steps < 0 || c.Epochs == 0 && c.Steps == 0:
		return &ConfigError{"a number of epochs or steps is needed"}
	}
	if want := c.Model.InputShape(0); !want.Equal(c.Train.Shape()) {
		return &ConfigError{fmt.Sprintf("%s/%s wants samples of shape %v, the data set has %v", c.Model.Name, c.Model.InputName(0), want, c.Train.Shape())}
	}
	if got := c.Model.OutputShape(0).Last(); c.Loss.Kind == nn.CrossEntropy && got != len(c.Train.Classes()) {
		return &ConfigError{fmt.Sprintf("model %s has %d outputs, the data set %d classes", c.Model.Name, got, len(c.Train.Classes()))}
	}
	return nil
}

// ConfigError says what does not fit in a configuration.
type ConfigError struct{ Reason string }

func (e *ConfigError) Error() string { return e.Reason }

// BadInput marks the error as the fault of what was asked.
func (e *ConfigError) BadInput() bool { return true }
