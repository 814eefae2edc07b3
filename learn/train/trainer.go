package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"millrace.dev/control"
	"millrace.dev/learn/data"
	"millrace.dev/learn/engine"
	"millrace.dev/learn/optim"
)

// window is how often progress is reported and throughput measured.
const window = 500 * time.Millisecond

// Trainer trains one model. It is used by one goroutine at a time.
type Trainer struct {
	cfg     Config
	vectors *engine.Vectors
	steps   *runners
	eval    *Evaluator
	loop    *control.Loop
	state   State
	epochs  []Epoch

	windowStart   time.Time
	windowSamples int
	windowMetrics Metrics
	epochStart    time.Time
	lastSave      time.Time
	savedStep     int
}

// New makes a trainer with fresh weights.
func New(cfg Config) (*Trainer, error) {
	t, err := prepare(cfg)
	if err != nil {
		return nil, err
	}
	if err := cfg.Model.Init(t.vectors, cfg.Seed); err != nil {
		return nil, err
	}
	t.state = State{Seed: cfg.Seed, Finger: fingerprint(t.vectors.Layout)}
	return t, t.loop.Start(0, time.Now())
}

// Resume makes a trainer that goes on from the newest intact checkpoint in cfg.Dir. It fails
// when that belongs to another model, optimizer or seed.
func Resume(cfg Config) (*Trainer, error) {
	t, err := prepare(cfg)
	if err != nil {
		return nil, err
	}
	st, b, err := newestCheckpoint(cfg.Dir)
	if err != nil {
		return nil, err
	}
	if want := fingerprint(t.vectors.Layout); st.Finger != want {
		return nil, &CheckpointError{cfg.Dir, fmt.Errorf("it belongs to another model or optimizer: it holds %s; this one needs %s", st.Finger, want)}
	}
	if st.Seed != cfg.Seed {
		return nil, &CheckpointError{cfg.Dir, fmt.Errorf("it belongs to a run with seed %d, not %d", st.Seed, cfg.Seed)}
	}
	if err := restore(b, t.vectors); err != nil {
		return nil, &CheckpointError{cfg.Dir, err}
	}
	t.state, t.savedStep = st, st.Step
	if err := t.loop.Resume(uint64(st.Step), time.Now()); err != nil {
		return nil, err
	}
	t.applyThreads(t.loop.Setting(SettingThreads))
	return t, nil
}

// prepare compiles the step of a full batch, which fixes the layout of the vectors.
func prepare(cfg Config) (*Trainer, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	t := &Trainer{cfg: cfg}
	t.steps = newRunners(t.compileStep)
	if _, err := t.steps.of(min(cfg.Batch, cfg.Train.Len())); err != nil {
		return nil, err
	}
	t.eval = NewEvaluator(cfg.Engine, cfg.Model, cfg.Loss, t.vectors)
	return t, t.newLoop()
}

func (t *Trainer) compileStep(batch int) (*runner, error) {
	g, err := StepGraph(t.cfg.Model, batch, t.cfg.Loss, t.cfg.Optimizer)
	if err != nil {
		return nil, err
	}
	opt := engine.Options{}
	if t.vectors != nil {
		opt.Layout = t.vectors.Layout
	}
	p, err := t.cfg.Engine.Compile(g, opt)
	if err != nil {
		return nil, err
	}
	if t.vectors == nil {
		t.vectors = p.Layout().NewVectors()
	}
	return newRunner(p, t.vectors, t.cfg.Model)
}

// Vectors are the model's numbers as they are now.
func (t *Trainer) Vectors() *engine.Vectors { return t.vectors }

// State is where the run stands.
func (t *Trainer) State() State { return t.state }

// Epochs are the epochs that this trainer has finished.
func (t *Trainer) Epochs() []Epoch { return t.epochs }

// Evaluate measures the model on a data set.
func (t *Trainer) Evaluate(ctx context.Context, ds data.Dataset) (Metrics, error) {
	return t.eval.Evaluate(ctx, ds, nil)
}

// Run trains until the configured end, until a policy stops it, or until the context ends; then
// it finishes the step, writes a checkpoint and returns the context's error.
func (t *Trainer) Run(ctx context.Context) error {
	loader, err := data.NewLoader(t.cfg.Train, data.LoaderOptions{
		Plan:    data.Plan{Batch: min(t.cfg.Batch, t.cfg.Train.Len()), Shuffle: true, Seed: t.cfg.Seed},
		Start:   t.state.Cursor,
		Epochs:  t.cfg.Epochs,
		Augment: t.cfg.Augment,
		Workers: 1,
	})
	if err != nil {
		return err
	}
	defer loader.Close()
	now := time.Now()
	t.windowStart, t.epochStart, t.lastSave = now, now, now
	err = t.train(ctx, loader)
	if end := t.finish(); err == nil {
		err = end
	}
	return err
}

func (t *Trainer) train(ctx context.Context, loader *data.Loader) error {
	for !t.done() {
		b, err := loader.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := t.step(b); err != nil {
			return err
		}
		if err := t.afterStep(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

func (t *Trainer) done() bool {
	return t.cfg.Steps > 0 && t.state.Step >= t.cfg.Steps ||
		t.cfg.Epochs > 0 && t.state.Cursor.Epoch >= t.cfg.Epochs ||
		t.loop.Setting(SettingTraining) == control.Stop
}

// step trains on one batch.
func (t *Trainer) step(b *data.Batch) error {
	r, err := t.steps.of(len(b.Indices))
	if err != nil {
		return err
	}
	copy(r.x, b.X)
	copy(r.y, b.Y)
	optim.Hyper(r.hyper, t.state.Step, t.rate())
	at := engine.Step{Seed: t.cfg.Seed, Index: uint64(t.state.Step)}
	if err := r.Run(engine.All, at); err != nil {
		return t.explain(r, at, err)
	}
	t.state.Step++
	t.state.Cursor = b.Next
	t.state.Epoch.add(float64(r.loss[0]), r.logits, r.y)
	t.windowMetrics.add(float64(r.loss[0]), r.logits, r.y)
	return nil
}

// explain names the layer behind a number that is not finite.
func (t *Trainer) explain(r *runner, at engine.Step, err error) error {
	var bad *engine.NonFiniteError
	if !errors.As(err, &bad) {
		return fmt.Errorf("step %d: %w", t.state.Step+1, err)
	}
	if cause := r.Trace(at); cause != nil {
		err = cause
	}
	return &DivergedError{Step: t.state.Step + 1, Err: err}
}

// DivergedError says at which step, and in which layer, a number was no longer finite. The
// weights are those of the step before.
type DivergedError struct {
	Step int
	Err  error
}

func (e *DivergedError) Error() string {
	return fmt.Sprintf("step %d: %v; try a lower learning rate or gradient clipping", e.Step, e.Err)
}

func (e *DivergedError) Unwrap() error { return e.Err }

// rate is the learning rate of the coming step.
func (t *Trainer) rate() float64 {
	return t.cfg.Schedule(t.state.Step) * t.loop.Setting(SettingRateFactor).Number()
}

func (t *Trainer) afterStep(ctx context.Context, b *data.Batch) error {
	now := time.Now()
	if b.Next.Epoch != b.At.Epoch {
		if err := t.endEpoch(ctx, b.At.Epoch+1, now); err != nil {
			return err
		}
	}
	if now.Sub(t.windowStart) >= window {
		if err := t.endWindow(now); err != nil {
			return err
		}
	}
	due := t.cfg.Every > 0 && t.state.Step-t.savedStep >= t.cfg.Every ||
		t.cfg.EveryTime > 0 && now.Sub(t.lastSave) >= t.cfg.EveryTime
	if due {
		t.save(now)
	}
	return nil
}

// endWindow reports progress and lets policies decide.
func (t *Trainer) endWindow(now time.Time) error {
	m := &t.windowMetrics
	rate := float64(m.Samples) / now.Sub(t.windowStart).Seconds()
	if t.cfg.Observer != nil {
		t.cfg.Observer.Window(Progress{
			Step: t.state.Step, Steps: t.cfg.Steps, Epoch: t.state.Cursor.Epoch + 1, Epochs: t.cfg.Epochs,
			Samples: t.state.Cursor.Position, Total: t.cfg.Train.Len(),
			Loss: m.Loss(), Accuracy: m.Accuracy(), Rate: rate, LR: t.rate(),
		})
	}
	err := t.observe(now, SignalThroughput, "samples/s", rate)
	err = errors.Join(err, t.observe(now, SignalTrainLoss, "", m.Loss()))
	*m = Metrics{}
	t.windowStart = now
	return errors.Join(err, t.loop.Decide(uint64(t.state.Step), now))
}

// endEpoch validates, lets policies decide, and writes a checkpoint.
func (t *Trainer) endEpoch(ctx context.Context, number int, now time.Time) error {
	e := Epoch{Number: number, Step: t.state.Step, LR: t.rate(), Train: t.state.Epoch, Duration: now.Sub(t.epochStart)}
	t.state.Epoch = Metrics{}
	err := t.observe(now, SignalTrainAccuracy, "", e.Train.Accuracy())
	if t.cfg.Valid != nil {
		m, failed := t.eval.Evaluate(ctx, t.cfg.Valid, nil)
		if failed != nil {
			return failed
		}
		e.Valid = m
		t.state.Best = max(t.state.Best, m.Accuracy())
		err = errors.Join(err, t.observe(now, SignalValidLoss, "", m.Loss()), t.observe(now, SignalValidAccuracy, "", m.Accuracy()))
	}
	t.epochs = append(t.epochs, e)
	if t.cfg.Observer != nil {
		t.cfg.Observer.Epoch(e)
	}
	err = errors.Join(err, t.loop.Decide(uint64(t.state.Step), now))
	t.save(now)
	// Validation and saving are no part of the next window's throughput.
	t.epochStart = time.Now()
	t.windowStart = t.epochStart
	t.windowMetrics = Metrics{}
	return err
}

func (t *Trainer) observe(now time.Time, name, unit string, v float64) error {
	return t.loop.Observe(control.Signal{Name: name, Unit: unit, Time: now, Point: uint64(t.state.Step), Value: v})
}

// save writes a checkpoint; a failure is reported and training goes on with the last good one.
func (t *Trainer) save(now time.Time) {
	t.lastSave = now
	if t.cfg.Dir == "" || t.savedStep == t.state.Step && t.state.Step > 0 {
		return
	}
	if err := writeCheckpoint(t.cfg.Dir, t.state, t.vectors); err != nil {
		if t.cfg.Observer != nil {
			t.cfg.Observer.CheckpointFailed(err)
		}
		return
	}
	t.savedStep = t.state.Step
}

// finish looks back at open decisions and writes the last checkpoint.
func (t *Trainer) finish() error {
	now := time.Now()
	t.save(now)
	return t.loop.Finish(uint64(t.state.Step), now)
}
