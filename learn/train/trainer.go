package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"millrace.dev/control"
	"millrace.dev/learn/data"
	"millrace.dev/learn/engine"
)

// window is how often progress is reported and throughput measured.
const window = 500 * time.Millisecond

// maxEpochs bounds the finished epochs that a run remembers.
const maxEpochs = 4096

// Trainer trains one model. It is used by one goroutine at a time.
type Trainer struct {
	cfg     Config
	about   identity
	vectors *engine.Vectors
	steps   *runners
	eval    *Evaluator
	loop    *control.Loop
	state   State
	best    *engine.Vectors // weights of the best epoch, nil before there is one
	origin  Origin

	windowStart   time.Time
	windowMetrics Metrics
	epochStart    time.Time
	lastSave      time.Time
	savedStep     int // -1 when this process has neither read nor written a checkpoint
	journalFailed bool

	member // of a group, empty without one
}

// member is what a trainer that belongs to a group has besides.
type member struct {
	maker        *data.Batcher
	batch        data.Batch
	localStates  []float32     // this worker's states after its share, behind its gradients
	statesBefore []float32     // the states at the step's begin
	mean         []float32     // gradients and states of all
	updater      *runner       // runs updates with the mean gradients
	leader       bool          // this worker writes what the run leaves behind
	norm2        float64       // squared norm of the gradients that are complete
	skips        int           // steps in a row that were passed over
	waited       time.Duration // for the others, at the end of the window's steps
	waits        int           // their number
}

// New makes a trainer with fresh weights.
func New(cfg Config) (*Trainer, error) {
	t, err := prepare(cfg, State{})
	if err != nil {
		return nil, err
	}
	if err := cfg.Model.Init(t.vectors, cfg.Seed); err != nil {
		return nil, err
	}
	return t, t.loop.Start(0, time.Now())
}

// Resume makes a trainer that goes on from the newest intact checkpoint in cfg.Dir, or from the
// beginning when the run ended before the first one. It fails when the checkpoint belongs to
// another model, optimizer, loss, batch size, data set or seed.
func Resume(cfg Config) (*Trainer, error) {
	if cfg.Group == nil { // else another worker may be writing
		RemoveUnfinished(cfg.Dir)
	}
	c, damaged, missing := newestCheckpoint(cfg.Dir)
	from := State{}
	if missing == nil {
		from = c.State
	}
	t, err := prepare(cfg, from)
	if err != nil {
		return nil, err
	}
	switch {
	case errors.Is(missing, fs.ErrNotExist):
		if err := cfg.Model.Init(t.vectors, cfg.Seed); err != nil {
			return nil, err
		}
	case missing != nil:
		return nil, missing
	default:
		if err := c.restore(t); err != nil {
			return nil, err
		}
		t.origin = Origin{Path: c.path, Damaged: damaged}
	}
	if err := t.resumeLoop(); err != nil {
		return nil, err
	}
	if len(t.cfg.Choices) > 1 {
		t.applyThreads(t.loop.Setting(SettingThreads))
	}
	return t, nil
}

// resumeLoop makes policies know what they knew at the checkpoint. The members of a group, who
// have journals of different lengths, learn it from the epochs in the checkpoint.
func (t *Trainer) resumeLoop() error {
	if t.cfg.Group != nil {
		err := t.loop.Start(0, time.Now())
		t.retell(State{}, t.state)
		return err
	}
	// An epoch whose end is still to be concluded gives its signals and decisions again.
	point := t.state.Step
	if t.concluding() {
		point--
	}
	return t.loop.Resume(uint64(max(point, 0)), time.Now())
}

// prepare compiles the steps of full batches, which fixes the layout of the vectors, of the
// epoch's last batch, and those of the validation, so that one that cannot be built fails here.
func prepare(cfg Config, from State) (*Trainer, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.Batch = min(cfg.Batch, cfg.Train.Len())
	about, err := identify(&cfg)
	if err != nil {
		return nil, err
	}
	t := &Trainer{cfg: cfg, about: about, state: from, savedStep: -1}
	t.steps = newRunners(t.compileStep)
	if err := t.steps.prepare(cfg.Train.Len(), cfg.Batch); err != nil {
		return nil, err
	}
	t.eval = NewEvaluator(cfg.Engine, cfg.Model, cfg.losses(), t.vectors)
	if cfg.Valid != nil {
		if err := t.eval.runners.prepare(cfg.Valid.Len(), evalBatchOf(cfg.Valid)); err != nil {
			return nil, err
		}
	}
	return t, t.newLoop()
}

// Vectors are the model's numbers as they are now.
func (t *Trainer) Vectors() *engine.Vectors { return t.vectors }

// Origin is where a resumed trainer goes on from.
type Origin struct {
	Path    string  // of the checkpoint, "" when it begins anew
	Damaged []error // newer checkpoints that cannot be used
}

// Origin says where the trainer goes on from.
func (t *Trainer) Origin() Origin { return t.origin }

// Elapsed notes in the journal how long the process has worked on the run; the time of the
// note is what counts for sums over processes.
func (t *Trainer) Elapsed(d time.Duration) error {
	at := control.Signal{Name: SignalElapsed, Unit: "s", Time: time.Now(), Point: uint64(t.state.Step), Value: d.Seconds()}
	if err := t.loop.Observe(at); err != nil {
		return err
	}
	return t.cfg.Journal.Sync()
}

// State is where the run stands. The caller does not change it.
func (t *Trainer) State() State { return t.state }

// Evaluate measures the model on a data set.
func (t *Trainer) Evaluate(ctx context.Context, ds data.Dataset, each Each) (Metrics, error) {
	m, err := t.eval.Evaluate(ctx, ds, each)
	return m, diverged(t.state.Step, err)
}

// Run trains until the configured end, until a policy stops it, or until the context ends; then
// it finishes the step, writes a checkpoint and returns the context's error. At the end all
// weights are finite; those of a run with Config.Stop are the ones with the lowest validation
// loss.
func (t *Trainer) Run(ctx context.Context) error {
	now := time.Now()
	t.windowStart, t.epochStart, t.lastSave = now, now, now
	err := t.train(ctx)
	t.finish(err)
	if errors.Is(err, ErrLeft) && ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	t.useBest()
	return diverged(t.state.Step, finite(t.vectors))
}

// train takes steps until the end, alone or in a group.
func (t *Trainer) train(ctx context.Context) error {
	if t.cfg.Group != nil {
		// A group is left after a step that all have decided, not in the middle of one.
		defer context.AfterFunc(ctx, t.cfg.Group.Leave)()
		whole := context.WithoutCancel(ctx)
		return t.run(whole, func() error { return t.stepInGroup(whole) })
	}
	if len(t.state.Returned) > 0 {
		return configErrorf("the run was trained by several workers and has samples to make up for: only workers can go on with it")
	}
	loader, err := data.NewLoader(t.cfg.Train, data.LoaderOptions{
		Plan:    data.Plan{Batch: t.cfg.Batch, Shuffle: true, Seed: t.cfg.Seed},
		Start:   t.state.Cursor,
		Augment: t.cfg.Augment,
		Workers: 1,
	})
	if err != nil {
		return err
	}
	defer loader.Close()
	return t.run(ctx, func() error {
		b, err := loader.Next(ctx)
		if err != nil {
			return err
		}
		return t.step(b)
	})
}

// run takes steps until one fails or the run has ended, and concludes epochs.
func (t *Trainer) run(ctx context.Context, step func() error) error {
	for {
		if t.concluding() {
			if err := t.endEpoch(ctx); err != nil {
				return err
			}
		}
		if t.ended() || t.loop.Setting(SettingTraining) == control.Stop {
			return nil
		}
		if err := step(); err != nil {
			return err
		}
		t.afterStep()
	}
}

// ended reports whether the configured end is reached.
func (t *Trainer) ended() bool {
	return t.cfg.Steps > 0 && t.state.Step >= t.cfg.Steps ||
		t.cfg.Epochs > 0 && t.state.Cursor.Epoch >= t.cfg.Epochs
}

// concluding reports whether an epoch has been trained, or the part of it that was asked for,
// but not been concluded.
func (t *Trainer) concluding() bool {
	return t.state.Running.Samples > 0 && (t.state.Cursor.Position == 0 || t.ended())
}

// rate is the learning rate of the coming step.
func (t *Trainer) rate() float64 {
	return t.cfg.Schedule(t.state.Step) * t.loop.Setting(SettingRateFactor).Number()
}

// afterStep reports progress and writes a checkpoint, where these are due.
func (t *Trainer) afterStep() {
	now := time.Now()
	if now.Sub(t.windowStart) >= window {
		t.endWindow(now)
	}
	due := t.cfg.Every > 0 && t.state.Step-max(t.savedStep, 0) >= t.cfg.Every ||
		t.cfg.EveryTime > 0 && now.Sub(t.lastSave) >= t.cfg.EveryTime
	if due && !t.concluding() {
		t.save(now)
	}
}

// endWindow reports progress and lets policies decide.
func (t *Trainer) endWindow(now time.Time) {
	m := &t.windowMetrics
	rate := float64(m.Samples) / now.Sub(t.windowStart).Seconds()
	if t.cfg.Observer != nil {
		t.cfg.Observer.Window(Progress{
			Step: t.state.Step, Steps: t.cfg.Steps, Epoch: t.epochNumber(), Epochs: t.cfg.Epochs,
			Samples: t.position(), Total: t.cfg.Train.Len(),
			Loss: m.Loss(), Accuracy: m.Accuracy(), Rate: rate, LR: t.rate(),
		})
	}
	t.observe(now, SignalThroughput, "samples/s", rate)
	if t.waits > 0 {
		t.observe(now, SignalWait, "ms", t.waited.Seconds()*1000/float64(t.waits))
		t.waited, t.waits = 0, 0
	}
	t.observe(now, SignalRunningLoss, "", m.Loss())
	t.decide(now)
	*m = Metrics{}
	t.windowStart = now
}

// position is how many samples of the running epoch, or of the one that was just trained, have
// been taken.
func (t *Trainer) position() int {
	if t.state.Cursor.Position == 0 && t.state.Running.Samples > 0 {
		return t.cfg.Train.Len()
	}
	return t.state.Cursor.Position
}

// epochNumber counts the epoch that is running, or was just trained, from 1.
func (t *Trainer) epochNumber() int {
	if t.state.Cursor.Position == 0 && t.state.Running.Samples > 0 {
		return t.state.Cursor.Epoch
	}
	return t.state.Cursor.Epoch + 1
}

// endEpoch validates, gives the epoch's signals and lets policies decide. Nothing has changed
// when it fails, so that a resumed run concludes the epoch anew.
func (t *Trainer) endEpoch(ctx context.Context) error {
	trained := time.Now()
	e := Epoch{Number: t.epochNumber(), Step: t.state.Step, Train: t.state.Running, Duration: trained.Sub(t.epochStart)}
	if t.cfg.Valid != nil {
		if err := t.eval.measure(ctx, t.cfg.Valid, nil, &e.Valid); err != nil {
			return diverged(t.state.Step, fmt.Errorf("validation after epoch %d: %w", e.Number, err))
		}
	}
	t.keepBest(e)
	t.conclude(e)
	e.LR = t.rate()
	t.state.Running = Metrics{}
	t.state.Epochs = append(t.state.Epochs[max(0, len(t.state.Epochs)-maxEpochs+1):], e)
	if t.cfg.Observer != nil {
		t.cfg.Observer.Epoch(e)
	}
	// Validation is no part of the window's throughput.
	t.epochStart = time.Now()
	t.windowStart = t.windowStart.Add(t.epochStart.Sub(trained))
	return nil
}

// conclude gives an epoch's signals and lets policies decide.
func (t *Trainer) conclude(e Epoch) {
	now := time.Now()
	t.measured(now, e.Train, SignalTrainLoss, SignalTrainAccuracy)
	if e.Valid.Samples > 0 {
		t.measured(now, e.Valid, SignalValidLoss, SignalValidAccuracy)
	}
	t.decide(now)
}

// measured gives the signals of an epoch's metrics: the loss, and the accuracy where there are
// labels.
func (t *Trainer) measured(now time.Time, m Metrics, loss, accuracy string) {
	t.observe(now, loss, "", m.Loss())
	if l := t.cfg.losses(); len(l) == 1 && l[0].Classifies() {
		t.observe(now, accuracy, "", m.Accuracy())
	}
}

// save writes a checkpoint; a failure is reported and training goes on with the last good one.
// The journal comes first: a resumed run must find the signals that came before its checkpoint.
// Weights that are no numbers are not worth one: the next step or measurement says so.
func (t *Trainer) save(now time.Time) {
	t.lastSave = now
	if t.cfg.Dir == "" || t.savedStep == t.state.Step || t.cfg.Group != nil && !t.leader {
		return
	}
	err := finite(t.vectors)
	if err == nil {
		err = t.cfg.Journal.Sync()
	}
	if err == nil {
		err = writeCheckpoint(t)
	}
	if err != nil {
		kept := ""
		if t.savedStep >= 0 {
			kept = ", the one before it is kept"
		}
		t.report(fmt.Errorf("the checkpoint after step %d could not be written%s: %w", t.state.Step, kept, err))
		return
	}
	t.savedStep = t.state.Step
}

// finish looks back at open decisions and writes the last checkpoint.
func (t *Trainer) finish(why error) {
	now := time.Now()
	// One that is told so is the last that has its group's state; one that ends without having left in good order may be.
	last := errors.Is(why, ErrLeftLast) || why != nil && !errors.Is(why, ErrLeft)
	t.leader = t.leader || last && t.state.Step > 0
	t.note(t.loop.Finish(uint64(t.state.Step), now))
	t.save(now)
}

func (t *Trainer) report(err error) {
	if t.cfg.Observer != nil {
		t.cfg.Observer.WriteFailed(err)
	}
}

// Observe sets who is told how the run goes; nil for nobody. It must not be called during Run.
func (t *Trainer) Observe(o Observer) { t.cfg.Observer = o }
