package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"millrace.dev/control"
	"millrace.dev/internal/buildinfo"
	"millrace.dev/internal/durable"
	"millrace.dev/internal/host"
	"millrace.dev/internal/rundir"
	"millrace.dev/learn/data"
	"millrace.dev/learn/engine/cpu"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/saved"
	"millrace.dev/learn/train"
)

// Verb is the verb of a run in its run.json.
const Verb = "train"

// ModelFile is the name of the trained model in a run's directory.
const ModelFile = "model.millrace"

const checkpointsDir = "checkpoints"

// Job is a run that is prepared, or going on.
type Job struct {
	Settings Settings
	Set      *data.Set
	Net      *nn.Model
	Norm     data.Norm
	Samples  int // of the training part
	Steps    int // in all, unless a policy ends the run before

	config train.Config
	dir    rundir.Dir

	decisions func() ([]control.Decision, error) // of the run so far

	engine  *cpu.Engine
	journal *control.Journal
	trainer *train.Trainer
	started time.Time     // of this process's part
	begun   time.Time     // of the run
	before  time.Duration // that earlier processes worked on it
}

// New opens the data set, makes the model and checks that all settings fit, and that the machine
// can do what the environment asks for.
func New(s Settings) (*Job, error) {
	if _, err := cpu.ReadProcessor(); err != nil {
		return nil, err
	}
	if err := s.complete(); err != nil {
		return nil, err
	}
	set, err := data.Open(s.Data, s.Options())
	if err != nil {
		return nil, err
	}
	j := &Job{Settings: s, Set: set}
	if j.Net, err = nn.ByName(s.Model, set.Train.Shape(), len(set.Train.Classes())); err != nil {
		return nil, err
	}
	if err := j.prepareData(); err != nil {
		return nil, err
	}
	if err := j.configure(); err != nil {
		return nil, err
	}
	if err := j.checkSteps(); err != nil {
		return nil, err
	}
	return j, j.checkAugment()
}

// configure turns settings into the trainer's configuration.
func (j *Job) configure() (err error) {
	s, c := &j.Settings, &j.config
	j.Steps = s.steps(j.Samples)
	if c.Optimizer, err = s.optimizer(); err != nil {
		return err
	}
	c.Model, c.Loss = j.Net, nn.Loss{Kind: nn.CrossEntropy, Smoothing: float32(s.Smoothing)}
	c.Schedule, c.Augment = s.schedule(j.Steps), s.augment()
	c.Batch, c.Epochs, c.Steps, c.Seed = s.Batch, s.Epochs, s.Steps, s.Seed
	c.EveryTime = s.CheckpointEvery
	j.policies()
	return nil
}

// checkSteps builds the graphs of a full and of an epoch's last batch.
func (j *Job) checkSteps() error {
	batch := min(j.Settings.Batch, j.Samples)
	for _, n := range []int{batch, j.Samples % batch} {
		if n == 0 {
			continue
		}
		if _, err := j.stepGraph(n); err != nil {
			return err
		}
	}
	return nil
}

func (j *Job) stepGraph(batch int) (*graph.Graph, error) {
	g, err := train.StepGraph(j.Net, batch, []nn.Loss{j.config.Loss}, j.config.Optimizer)
	if err != nil {
		return nil, fmt.Errorf("a batch of %d (of %d samples an epoch): %w", batch, j.Samples, err)
	}
	return g, nil
}

// SamplesInAll is how many samples the run trains on, unless a policy ends it before.
func (j *Job) SamplesInAll() int {
	batch := min(j.Settings.Batch, j.Samples)
	each := (j.Samples + batch - 1) / batch
	return j.Steps/each*j.Samples + j.Steps%each*batch
}

// FewSteps tells whether a smaller batch would leave an epoch more steps, of which it has few: a
// network learns little from so few updates.
func (j *Job) FewSteps() bool {
	return j.Settings.Batch > smallestBatch && j.Samples <= (fewestSteps-1)*j.Settings.Batch
}

// prepareData holds the validation samples out, and fits the batch to what is left and normalises
// by it.
func (j *Job) prepareData() (err error) {
	var part, valid data.Dataset = j.Set.Train, nil
	if f := j.Settings.ValidFraction; f > 0 && j.Set.Train.Len() > 1 {
		a, b, err := data.Split(j.Set.Train, f, j.Settings.Seed)
		if err != nil {
			return err
		}
		part, valid = a, b
	}
	j.Samples = part.Len()
	j.Settings.fitBatch(j.Samples)
	if j.Norm, err = data.MeasureNorm(part); err != nil {
		return err
	}
	if valid != nil {
		if j.config.Valid, err = data.Normalize(valid, j.Norm); err != nil {
			return err
		}
	}
	j.config.Train, err = data.Normalize(part, j.Norm)
	return err
}

func (j *Job) policies() {
	if n := j.Settings.EarlyStop; n > 0 {
		j.config.Stop = &control.EarlyStop{Setting: train.SettingTraining, Signal: train.SignalValidLoss, Patience: n}
	}
	if j.Settings.Schedule == "plateau" {
		j.config.Plateau = &control.Plateau{
			Setting: train.SettingRateFactor, Signal: train.SignalValidLoss, Patience: 2, Factor: 0.3, Floor: 1e-3,
		}
	}
}

// checkAugment tries the augmentations on the samples' shape, before anything is written.
func (j *Job) checkAugment() error {
	l, err := data.NewLoader(j.config.Train, data.LoaderOptions{Plan: data.Plan{Batch: 1}, Augment: j.config.Augment})
	if err != nil {
		return &train.ConfigError{Reason: "augment: " + err.Error()}
	}
	l.Close()
	return nil
}

// Start begins the run in its directory, which is new: it writes run.json, with the arguments
// that the run was asked for with.
func (j *Job) Start(dir rundir.Dir, args []string) (err error) {
	if err := j.checkMemory(host.ReadMemory()); err != nil {
		return err
	}
	if err := j.Declare(dir, args); err != nil {
		return err
	}
	if err := j.open(dir.Events()); err != nil {
		return err
	}
	j.trainer, err = train.New(j.config)
	return err
}

// Declare writes run.json into the directory of a new run.
func (j *Job) Declare(dir rundir.Dir, args []string) error {
	settings, err := json.Marshal(j.Settings)
	if err != nil {
		return err
	}
	j.dir, j.begun = dir, time.Now()
	// It comes first: a run that is killed at any later moment can be resumed.
	return dir.WriteManifest(rundir.Manifest{
		Verb: Verb, Args: args, Settings: settings, Seed: j.Settings.Seed, Started: j.begun, Build: buildinfo.Read(),
	})
}

// Load reads the settings of the run in a directory.
func Load(dir rundir.Dir) (Settings, error) {
	var s Settings
	m, err := dir.Manifest()
	if err != nil {
		return s, err
	}
	if m.Verb != Verb {
		return s, &rundir.Error{Path: dir.Path(), Cause: fmt.Errorf("it is a run of %s, not of %s", m.Verb, Verb)}
	}
	if err := json.Unmarshal(m.Settings, &s); err != nil {
		return s, &rundir.Error{Path: dir.Path(), Cause: fmt.Errorf("its settings: %w", err)}
	}
	return s, nil
}

// Resume goes on with the run in a directory, whose settings the job was made with.
func (j *Job) Resume(dir rundir.Dir) error {
	if err := j.checkMemory(host.ReadMemory()); err != nil {
		return err
	}
	m, err := dir.Manifest()
	if err != nil {
		return err
	}
	j.dir, j.begun = dir, m.Started
	if j.before, err = Spent(dir.Events()); err != nil {
		return &rundir.Error{Path: dir.Path(), Cause: err}
	}
	if err := j.open(dir.Events()); err != nil {
		return err
	}
	j.trainer, err = train.Resume(j.config)
	return err
}

// Part is one worker's part of a run that several train.
type Part struct {
	Dir    rundir.Dir
	Events string // path of the worker's own journal
	Group  train.Group
	Joins  bool          // it gets all that it needs to know from others
	Before time.Duration // that earlier processes worked on the run
	Began  time.Time     // when those of now did
	// Decisions are those of the whole run so far.
	Decisions func() ([]control.Decision, error)
}

// Work makes the job a part of the run in a directory, which goes on from the newest checkpoint, from
// the beginning, or from where the others are.
func (j *Job) Work(p Part) error {
	m, err := p.Dir.Manifest()
	if err != nil {
		return err
	}
	j.dir, j.begun, j.before = p.Dir, m.Started, p.Before
	j.config.Group, j.decisions = p.Group, p.Decisions
	if err := j.open(p.Events); err != nil {
		return err
	}
	j.started = p.Began
	if p.Joins {
		j.trainer, err = train.New(j.config)
	} else {
		j.trainer, err = train.Resume(j.config)
	}
	return err
}

// Reached is where the newest checkpoint of the run in a directory stands, and which it is.
func Reached(dir rundir.Dir) (train.State, train.Origin, error) {
	return train.Newest(Checkpoints(dir))
}

// Hash is a fingerprint of all numbers of the model and the optimizer.
func (j *Job) Hash() uint64 { return j.trainer.Hash() }

// Tidy removes what a process that was killed has left in a run's directory, on which none works now.
func Tidy(dir rundir.Dir) { train.RemoveUnfinished(Checkpoints(dir)) }

// Checkpoints is the directory of a run's checkpoints.
func Checkpoints(dir rundir.Dir) string { return dir.File(checkpointsDir) }

// Replay makes a replay of the steps of the run's workers.
func (j *Job) Replay() (*train.Replay, error) {
	var err error
	if j.engine, err = cpu.New(j.Settings.Threads); err != nil {
		return nil, err
	}
	c := j.config
	c.Engine = j.engine
	return train.NewReplay(c)
}

// open makes what the trainer stands on.
func (j *Job) open(events string) (err error) {
	j.started = time.Now()
	if j.decisions == nil {
		j.decisions = func() ([]control.Decision, error) {
			list, _, err := control.ReadDecisions(events)
			return list, err
		}
	}
	j.config.Dir = Checkpoints(j.dir)
	if err := os.MkdirAll(j.config.Dir, 0o755); err != nil {
		return &rundir.Error{Path: j.dir.Path(), Cause: err}
	}
	if err := durable.SyncDir(j.dir.Path()); err != nil {
		return &rundir.Error{Path: j.dir.Path(), Cause: err}
	}
	if j.journal, err = control.OpenJournal(events); err != nil {
		return &rundir.Error{Path: j.dir.Path(), Cause: err}
	}
	if j.engine, err = cpu.New(j.Settings.Threads); err != nil {
		return err
	}
	j.config.Journal, j.config.Engine, j.config.Threads = j.journal, j.engine, j.engine
	if j.Settings.Threads == 0 {
		j.config.Choices = choices(j.engine.Threads())
	}
	return nil
}

// choices are the numbers of threads to try: powers of two, and all.
func choices(most int) []int {
	var list []int
	for n := 1; n < most; n *= 2 {
		list = append(list, n)
	}
	return append(list, most)
}

// DataName is what the data set is called in results: its name, or the last part of its path.
func (j *Job) DataName() string { return filepath.Base(j.Set.Name) }

// Dir is the run's directory.
func (j *Job) Dir() rundir.Dir { return j.dir }

// State is where the run stands.
func (j *Job) State() train.State { return j.trainer.State() }

// Origin is where a resumed run goes on from.
func (j *Job) Origin() train.Origin { return j.trainer.Origin() }

// Memory is what the run computes in; the data set comes on top.
func (j *Job) Memory() train.Memory { return j.trainer.Memory() }

// model is the trained model as it is now.
func (j *Job) model() (*saved.Model, error) {
	border, err := saved.MeasureBorder(j.Set.Train)
	return &saved.Model{
		Net: j.Net, Vectors: j.trainer.Vectors(), Classes: j.Set.Train.Classes(),
		Norm: j.Norm, Border: border, Data: j.DataName(),
	}, err
}

// Close ends the run's workers and its journal.
func (j *Job) Close() error {
	var err error
	if j.journal != nil {
		err = j.journal.Close()
	}
	if j.engine != nil {
		err = errors.Join(err, j.engine.Close())
	}
	return err
}
