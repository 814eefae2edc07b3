package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"millrace.dev/internal/durable"
	"millrace.dev/learn/data"
	"millrace.dev/learn/engine"
	"millrace.dev/learn/internal/bundle"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/tensor"
)

const (
	checkpointKind   = "checkpoint"
	checkpointSuffix = ".checkpoint"
)

// State is, with the vectors, all that the future of a run depends on.
type State struct {
	Step   int         `json:"step"`   // steps taken
	Cursor data.Cursor `json:"cursor"` // of the next batch
	// Returned are positions before the cursor that a lost worker was to train on.
	Returned []data.Span `json:"returned,omitempty"`
	Running  Metrics     `json:"running"` // of the running epoch so far
	Epochs   []Epoch     `json:"epochs"`  // that are finished
	Best     Best        `json:"best,omitzero"`
}

// check refuses what cannot be.
func (s *State) check() error {
	if min(s.Step, s.Cursor.Epoch, s.Cursor.Position, s.Best.Epoch) < 0 {
		return fmt.Errorf("step %d, epoch %d, position %d and best epoch %d cannot be", s.Step, s.Cursor.Epoch, s.Cursor.Position, s.Best.Epoch)
	}
	for _, r := range s.Returned {
		if r.From < 0 || r.To <= r.From || r.To > s.Cursor.Position {
			return fmt.Errorf("positions %d to %d cannot have come back before position %d", r.From, r.To, s.Cursor.Position)
		}
	}
	return nil
}

// concluded is the step after which the last finished epoch ended, 0 when none is.
func (s *State) concluded() int {
	if n := len(s.Epochs); n > 0 {
		return s.Epochs[n-1].Step
	}
	return 0
}

// description is a checkpoint's header.
type description struct {
	About identity `json:"about"`
	State State    `json:"state"`
}

// checkpoint is a file that was read.
type checkpoint struct {
	path string
	description
	tensors []bundle.Tensor
}

// CheckpointError says which checkpoint cannot be used, and why.
type CheckpointError struct {
	Path string
	Err  error
}

func (e *CheckpointError) Error() string { return fmt.Sprintf("checkpoint %s: %v", e.Path, e.Err) }

func (e *CheckpointError) Unwrap() error { return e.Err }

// BadInput marks the error as the fault of the file.
func (e *CheckpointError) BadInput() bool { return true }

// DamagedError says what is wrong with each of a run's checkpoints: none can be used.
type DamagedError struct{ Each []error }

func (e *DamagedError) Error() string {
	texts := make([]string, len(e.Each))
	for i, err := range e.Each {
		texts[i] = err.Error()
	}
	return "no checkpoint can be used: " + strings.Join(texts, "; ")
}

func (e *DamagedError) Unwrap() []error { return e.Each }

// BadInput marks the error as the fault of the files.
func (e *DamagedError) BadInput() bool { return true }

// writeCheckpoint writes a new file, reads it back, and only then removes older ones but for the
// last of them.
func writeCheckpoint(t *Trainer) error {
	meta, err := json.Marshal(description{t.about, t.state})
	if err != nil {
		return err
	}
	f := &bundle.File{Kind: checkpointKind, Meta: meta, Tensors: tensors(t.vectors, t.keptBest())}
	path := checkpointPath(t.cfg.Dir, t.state.Step)
	if err := durable.WriteFile(path, func(w io.Writer) error { return bundle.Write(w, f) }); err != nil {
		return err
	}
	if err := bundle.VerifyFile(path); err != nil {
		return &CheckpointError{path, err}
	}
	return dropOld(t.cfg.Dir, path)
}

// checkpointPath is where a checkpoint goes.
func checkpointPath(dir string, step int) string {
	return filepath.Join(dir, fmt.Sprintf("%012d%s", step, checkpointSuffix))
}

// slotMark stands between a param's name and the number of one of its optimizer slots, bestMark
// after the name of a weight of the best epoch.
const (
	slotMark = "#"
	bestMark = "@best"
)

// tensors views the vectors as named tensors: params, states, a param's k-th optimizer slot as
// param#k, and, unless best is nil, the best epoch's weights as name@best.
func tensors(v, best *engine.Vectors) []bundle.Tensor {
	var ts []bundle.Tensor
	add := func(name string, shape tensor.Shape, of func(*engine.Vectors, string) []float32) {
		ts = append(ts, bundle.Tensor{Name: name, Shape: shape, Data: of(v, name)})
		if best != nil {
			ts = append(ts, bundle.Tensor{Name: name + bestMark, Shape: shape, Data: of(best, name)})
		}
	}
	for _, p := range v.Layout.Params {
		add(p.Name, p.Shape, (*engine.Vectors).Param)
		for k := range v.Slots {
			ts = append(ts, bundle.Tensor{Name: fmt.Sprint(p.Name, slotMark, k), Shape: p.Shape, Data: v.Slot(k, p.Name)})
		}
	}
	for _, s := range v.Layout.States {
		add(s.Name, s.Shape, (*engine.Vectors).State)
	}
	return ts
}

// compare checks that a checkpoint holds exactly the tensors needed.
func compare(needed, found []bundle.Tensor) error {
	for _, part := range []struct {
		what  string
		slots bool
	}{{"model", false}, {"optimizer", true}} {
		if err := nn.CompareWeights(names(needed, part.slots), names(found, part.slots)); err != nil {
			return fmt.Errorf("it belongs to another %s: %w", part.what, err)
		}
	}
	return nil
}

// names lists the tensors that are optimizer slots, or those that are not.
func names(ts []bundle.Tensor, slots bool) []nn.Named {
	var list []nn.Named
	for _, t := range ts {
		if strings.Contains(t.Name, slotMark) == slots {
			list = append(list, nn.Named{Name: t.Name, Shape: t.Shape})
		}
	}
	return list
}

// dropOld keeps a checkpoint that was just written and the one before it. What claims to be newer was damaged when
// the run went on from an older one, or another worker has come further: that stays.
func dropOld(dir, newest string) error {
	paths, err := checkpoints(dir)
	if err != nil {
		return err
	}
	at := max(slices.Index(paths, newest), 0)
	for i, p := range paths {
		if i == at || i == at+1 || i < at && bundle.VerifyFile(p) == nil {
			continue
		}
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) { // another worker may be doing the same
			return err
		}
	}
	return nil
}

// checkpoints lists a directory's checkpoints, the newest first.
func checkpoints(dir string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*"+checkpointSuffix))
	slices.Sort(paths)
	slices.Reverse(paths)
	return paths, err
}

// RemoveUnfinished removes what a process that was killed while it wrote a checkpoint has left.
func RemoveUnfinished(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, ".*"+checkpointSuffix+".*.tmp"))
	for _, p := range left {
		_ = os.Remove(p) // a file that stays only takes up space
	}
}

func readCheckpoint(path string) (*checkpoint, error) {
	b, err := bundle.ReadFile(path)
	if err != nil {
		return nil, &CheckpointError{path, err}
	}
	if b.Kind != checkpointKind {
		return nil, &CheckpointError{path, fmt.Errorf("the file is a %s", b.Kind)}
	}
	c := &checkpoint{path: path, tensors: b.Tensors}
	if err := json.Unmarshal(b.Meta, &c.description); err != nil {
		return nil, &CheckpointError{path, err}
	}
	if err := c.State.check(); err != nil {
		return nil, &CheckpointError{path, err}
	}
	return c, nil
}

// newestCheckpoint reads the newest checkpoint that is intact, and says what is wrong with those
// that are newer. It fails with fs.ErrNotExist when there is none, and with what is wrong with
// each when none is intact.
func newestCheckpoint(dir string) (found *checkpoint, damaged []error, err error) {
	paths, err := checkpoints(dir)
	if err != nil {
		return nil, nil, err
	}
	if len(paths) == 0 {
		return nil, nil, fmt.Errorf("no checkpoint in %s: %w", dir, fs.ErrNotExist)
	}
	for _, p := range paths {
		c, err := readCheckpoint(p)
		if err == nil {
			return c, damaged, nil
		}
		damaged = append(damaged, err)
	}
	return nil, nil, &DamagedError{damaged}
}

// Newest is where the newest intact checkpoint in a directory stands, and which it is; the beginning of a
// run when there is none.
func Newest(dir string) (State, Origin, error) {
	c, damaged, err := newestCheckpoint(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, Origin{}, nil
	}
	if err != nil {
		return State{}, Origin{}, err
	}
	return c.State, Origin{c.path, damaged}, nil
}

// restore makes the trainer go on where the checkpoint was written. The weights are unchanged
// when the checkpoint is not its own.
func (c *checkpoint) restore(t *Trainer) error {
	var best *engine.Vectors
	if c.State.Best.Epoch > 0 {
		if t.best == nil {
			t.best = weightsLike(t.vectors)
		}
		best = t.best
	}
	want := tensors(t.vectors, best)
	if err := compare(want, c.tensors); err != nil {
		return &CheckpointError{c.path, err}
	}
	if err := t.about.same(c.About); err != nil {
		return &CheckpointError{c.path, err}
	}
	from := map[string][]float32{}
	for _, x := range c.tensors {
		from[x.Name] = x.Data
	}
	for _, x := range want {
		copy(x.Data, from[x.Name])
	}
	t.state, t.savedStep = c.State, c.State.Step
	return nil
}
