package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"millrace.dev/control"
	"millrace.dev/internal/durable"
	"millrace.dev/learn/engine"
	"millrace.dev/learn/internal/bundle"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/optim"
)

// part runs a process's part of a run: it begins or resumes in dir and is interrupted when step
// `until` is about to be taken, or during the validation before it.
func part(t *testing.T, cfg Config, dir string, resume bool, until int) (*Trainer, error) {
	t.Helper()
	journal, err := control.OpenJournal(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	base := cfg.Schedule
	cfg.Schedule = func(step int) float64 {
		if step >= until {
			cancel()
		}
		return base(step)
	}
	cfg.Dir, cfg.Journal = dir, journal
	begin := New
	if resume {
		begin = Resume
	}
	tr, err := begin(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tr, tr.Run(ctx)
}

// TestResumeIsExact interrupts runs at random steps, the ends of epochs included, some of them
// again and again, and compares with one that was not interrupted.
func TestResumeIsExact(t *testing.T) {
	cfg := config(t)
	want := mustTrain(t, cfg)
	trials := 12
	if testing.Short() {
		trials = 4
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range trials {
		cfg.Every = r.IntN(4) * 3
		dir := t.TempDir()
		stops := []int{r.IntN(28), 7 * (1 + i%4)}
		if stops[0] > stops[1] {
			stops[0], stops[1] = stops[1], stops[0]
		}
		tr, err := part(t, cfg, dir, false, stops[0])
		for _, stop := range append(stops[1:], 1000) {
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			tr, err = part(t, cfg, dir, true, stop)
		}
		what := fmt.Sprintf("interrupted at %v, checkpoint every %d", stops, cfg.Every)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		sameVectors(t, what, tr.Vectors(), want.Vectors())
		got, all := tr.State(), want.State()
		for k := range all.Epochs {
			got.Epochs[k].Duration, all.Epochs[k].Duration = 0, 0
		}
		if !reflect.DeepEqual(got, all) {
			t.Errorf("%s: the state is\n%+v\nwant\n%+v", what, got, all)
		}
		sameDecisions(t, what, dir, len(all.Epochs))
	}
}

// sameDecisions checks that the journal holds each epoch's validation once, in force, and that
// the policies decide the same over it again.
func sameDecisions(t *testing.T, what, dir string, epochs int) {
	t.Helper()
	path := filepath.Join(dir, "events.jsonl")
	decisions, _, err := control.ReadDecisions(path)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, d := range decisions {
		if !d.Undone {
			n++
		}
	}
	if n == 0 {
		t.Errorf("%s: no decision", what)
	}
	if _, err := control.Replay(path, []control.Policy{*config(t).Plateau}); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

func TestResumeBeforeTheFirstCheckpoint(t *testing.T) {
	cfg := config(t)
	want := mustTrain(t, cfg).Vectors()
	dir := t.TempDir()
	tr, err := part(t, cfg, dir, true, 1000)
	if err != nil {
		t.Fatal(err)
	}
	sameVectors(t, "from nothing", tr.Vectors(), want)
}

// TestResumeWithoutJournal goes on where nothing decides, and so nothing has to be remembered.
func TestResumeWithoutJournal(t *testing.T) {
	cfg := config(t)
	cfg.Plateau = nil
	want := mustTrain(t, cfg).Vectors()
	cfg.Dir, cfg.Steps = t.TempDir(), 9
	mustTrain(t, cfg)
	cfg.Steps = 0
	tr, err := Resume(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	sameVectors(t, "without a journal", tr.Vectors(), want)
	cfg.Plateau = config(t).Plateau
	if _, err := Resume(cfg); err == nil {
		t.Error("decisions that are forgotten were resumed")
	}
}

// TestResumeRefuses tries to go on with what another run has left.
func TestResumeRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := part(t, config(t), dir, false, 5); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Config){
		"it belongs to another model: the weights do not fit: missing: other/": func(c *Config) {
			c.Model, _ = nn.Sequential("other", nn.Input("image", 6, 6, 1), nn.Flatten{}, nn.Dense{Units: 3})
		},
		"of another shape: net/dense_2/kernel is [8 3], not [9 3], net/dense_1/bias is [8], not [9]": func(c *Config) {
			c.Model, _ = nn.Sequential("net", nn.Input("image", 6, 6, 1),
				nn.Conv2D{Filters: 4, Kernel: 3, Pad: nn.Same, NoBias: true}, nn.BatchNorm{Act: nn.ReLU},
				nn.MaxPool{Size: 2}, nn.Flatten{}, nn.Dense{Units: 9}, nn.Dense{Units: 3})
		},
		"another optimizer: the weights do not fit: unexpected: net/batch_norm_1/beta#0": func(c *Config) { c.Optimizer = optim.SGD(0) },
		"it was trained with {":                func(c *Config) { c.Optimizer.Rule.Beta1 = 0.8 },
		`"batch":16`:                           func(c *Config) { c.Batch = 20 },
		"it was trained with seed 5, not 6":    func(c *Config) { c.Seed = 6 },
		"it was trained on other data: 100 sa": func(c *Config) { c.Train = blobs(t, 100, 9) },
	} {
		cfg := config(t)
		cfg.Dir = dir
		change(&cfg)
		_, err := Resume(cfg)
		var bad *CheckpointError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestDamagedCheckpoint damages the newest checkpoint: the one before it is used, and the run
// still ends the same. When none is intact that is an error.
func TestDamagedCheckpoint(t *testing.T) {
	cfg := config(t)
	want := mustTrain(t, cfg).Vectors()
	dir := t.TempDir()
	cfg.Every = 3
	if _, err := part(t, cfg, dir, false, 17); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	paths, err := checkpoints(dir)
	if err != nil || len(paths) != 2 {
		t.Fatalf("%v, %v; want the newest two", paths, err)
	}
	text, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 4
	if err := os.WriteFile(paths[0], text, 0o644); err != nil {
		t.Fatal(err)
	}
	tr, err := part(t, cfg, dir, true, 1000)
	if err != nil {
		t.Fatal(err)
	}
	sameVectors(t, "from the checkpoint before", tr.Vectors(), want)
	if o := tr.Origin(); o.Path != paths[1] || len(o.Damaged) != 1 || !strings.Contains(o.Damaged[0].Error(), paths[0]) {
		t.Errorf("it went on from %+v, want %s and a word about %s", o, paths[1], paths[0])
	}

	paths, _ = checkpoints(dir)
	for _, p := range paths {
		if err := os.Truncate(p, 100); err != nil {
			t.Fatal(err)
		}
	}
	cfg.Dir = dir
	var bad *CheckpointError
	if _, err := Resume(cfg); !errors.As(err, &bad) || len(paths) != 2 ||
		!strings.Contains(err.Error(), "; checkpoint "+paths[1]+": ") {
		t.Errorf("without an intact checkpoint: %v", err)
	}
}

// TestDropOld keeps the file that was just written and the one before it, not damaged ones that
// claim to be newer, but those of workers that have come further.
func TestDropOld(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for _, step := range []int{10, 20, 30, 40} {
		p := filepath.Join(dir, fmt.Sprintf("%012d%s", step, checkpointSuffix))
		paths = append(paths, p)
		if err := os.WriteFile(p, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := dropOld(dir, paths[2]); err != nil {
		t.Fatal(err)
	}
	left, err := checkpoints(dir)
	if err != nil || !slices.Equal(left, []string{paths[2], paths[1]}) {
		t.Errorf("%v are left, %v", left, err)
	}
	further := &bundle.File{Kind: checkpointKind, Meta: []byte("{}")}
	if err := durable.WriteFile(paths[3], func(w io.Writer) error { return bundle.Write(w, further) }); err != nil {
		t.Fatal(err)
	}
	if err := dropOld(dir, paths[1]); err != nil {
		t.Fatal(err)
	}
	if left, err := checkpoints(dir); err != nil || !slices.Equal(left, []string{paths[3], paths[1]}) {
		t.Errorf("%v are left, %v", left, err)
	}
}

// TestCheckpointsAreEqual trains twice: the files are the same, byte for byte.
func TestCheckpointsAreEqual(t *testing.T) {
	var files [2][]byte
	for i := range files {
		cfg := config(t)
		cfg.Dir = t.TempDir()
		mustTrain(t, cfg)
		text, err := os.ReadFile(filepath.Join(cfg.Dir, "000000000028.checkpoint"))
		if err != nil {
			t.Fatal(err)
		}
		files[i] = text
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two runs alike write other checkpoints")
	}
}

// spoiled is a run that learns for three epochs and unlearns after them, until it is stopped.
func spoiled(t *testing.T) Config {
	t.Helper()
	cfg := config(t)
	cfg.Plateau, cfg.Epochs = nil, 30
	cfg.Stop = &control.EarlyStop{Setting: SettingTraining, Signal: SignalValidLoss, Patience: 3}
	cfg.Schedule = func(step int) float64 {
		if step < 21 {
			return 0.01
		}
		return 1
	}
	return cfg
}

// TestBestWeights stops a run early: it ends in the weights that a run to its best epoch has,
// also when it was interrupted, before and after that epoch, and when it is resumed at its end.
func TestBestWeights(t *testing.T) {
	cfg := spoiled(t)
	stopped := mustTrain(t, cfg)
	best, last := stopped.State().Best, len(stopped.State().Epochs)
	if best.Epoch < 1 || last != best.Epoch+3 || best.Loss != stopped.State().Epochs[best.Epoch-1].Valid.Loss() {
		t.Fatalf("best %+v of %d epochs", best, last)
	}
	short := spoiled(t)
	short.Stop, short.Epochs = nil, best.Epoch
	want := mustTrain(t, short).Vectors()
	sameWeights := func(what string, got *engine.Vectors) {
		t.Helper()
		if !slices.Equal(got.Params, want.Params) || !slices.Equal(got.States, want.States) {
			t.Errorf("%s: not the weights of epoch %d", what, best.Epoch)
		}
	}
	sameWeights("stopped early", stopped.Vectors())
	dir := t.TempDir()
	for i, until := range []int{10, 7*best.Epoch + 3, 1000, 1000} {
		tr, err := part(t, cfg, dir, i > 0, until)
		if until < 1000 {
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			continue
		}
		if err != nil || tr.State().Best != best {
			t.Fatalf("%v, best %+v", err, tr.State().Best)
		}
		sameWeights(fmt.Sprint("part ", i), tr.Vectors())
	}
}

// TestUnwritableCheckpoint takes the directory away during the run and gives it back.
func TestUnwritableCheckpoint(t *testing.T) {
	cfg := config(t)
	want := mustTrain(t, cfg).Vectors()
	seen := &recorder{}
	dir := filepath.Join(t.TempDir(), "checkpoints")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	base := cfg.Schedule
	cfg.Dir, cfg.Every, cfg.Observer = dir, 2, seen
	cfg.Schedule = func(step int) float64 {
		switch step {
		case 11:
			_ = os.Rename(dir, dir+".away")
		case 16:
			_ = os.Rename(dir+".away", dir)
		}
		return base(step)
	}
	tr := mustTrain(t, cfg)
	sameVectors(t, "with failing checkpoints", tr.Vectors(), want)
	if len(seen.failed) == 0 || !strings.Contains(seen.failed[0].Error(), "the one before it is kept") {
		t.Errorf("reported: %v", seen.failed)
	}
	c, damaged, err := newestCheckpoint(dir)
	if len(damaged) > 0 || err != nil || c.State.Step != 28 {
		t.Errorf("newest checkpoint: %+v, %v", c, err)
	}
}

func TestUnfinishedFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, ".000000000003.checkpoint.17.tmp")
	if err := os.WriteFile(left, []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := part(t, config(t), dir, true, 1000); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there", left)
	}
}
