package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"

	"millrace.dev/internal/durable"
	"millrace.dev/learn/data"
	"millrace.dev/learn/engine"
	"millrace.dev/learn/internal/bundle"
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
	Seed   uint64      `json:"seed"`
	Epoch  Metrics     `json:"epoch"` // of the running epoch so far
	Best   float64     `json:"best"`  // best validation accuracy so far
	Finger string      `json:"model"` // what the vectors belong to: the layout's description
}

// fingerprint describes a layout: which params and states of which shapes stand where.
func fingerprint(l *engine.Layout) string {
	s := ""
	for _, p := range append(append([]engine.Place{}, l.Params...), l.States...) {
		s += fmt.Sprintf("%s%v ", p.Name, p.Shape)
	}
	return fmt.Sprintf("%s+ %d slots", s, l.Slots)
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

// writeCheckpoint writes a new file, reads it back, and only then removes all but the one
// before it.
func writeCheckpoint(dir string, st State, v *engine.Vectors) error {
	meta, err := json.Marshal(st)
	if err != nil {
		return err
	}
	f := &bundle.File{Kind: checkpointKind, Meta: meta, Tensors: vectorTensors(v)}
	path := filepath.Join(dir, fmt.Sprintf("%012d%s", st.Step, checkpointSuffix))
	if err := durable.WriteFile(path, func(w io.Writer) error { return bundle.Write(w, f) }); err != nil {
		return fmt.Errorf("checkpoint %s: %w", path, err)
	}
	if _, _, err := readCheckpoint(path); err != nil {
		return err
	}
	return dropOld(dir)
}

func vectorTensors(v *engine.Vectors) []bundle.Tensor {
	flat := func(name string, x []float32) bundle.Tensor {
		return bundle.Tensor{Name: name, Shape: tensor.Shape{len(x)}, Data: x}
	}
	ts := []bundle.Tensor{flat("params", v.Params), flat("states", v.States)}
	for i, s := range v.Slots {
		ts = append(ts, flat(fmt.Sprintf("slot%d", i), s))
	}
	return ts
}

// dropOld keeps the newest two checkpoints.
func dropOld(dir string) error {
	paths, err := checkpoints(dir)
	if err != nil {
		return err
	}
	for _, p := range paths[min(2, len(paths)):] {
		if err := os.Remove(p); err != nil {
			return err
		}
	}
	return nil
}

// checkpoints lists a directory's checkpoints, the newest first.
func checkpoints(dir string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*"+checkpointSuffix))
	sort.Sort(sort.Reverse(sort.StringSlice(paths)))
	return paths, err
}

func readCheckpoint(path string) (State, *bundle.File, error) {
	var st State
	f, err := os.Open(path)
	if err != nil {
		return st, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return st, nil, err
	}
	b, err := bundle.Read(f, info.Size())
	if err != nil {
		return st, nil, &CheckpointError{path, err}
	}
	if b.Kind != checkpointKind {
		return st, nil, &CheckpointError{path, fmt.Errorf("the file is a %s", b.Kind)}
	}
	if err := json.Unmarshal(b.Meta, &st); err != nil {
		return st, nil, &CheckpointError{path, err}
	}
	return st, b, nil
}

// newestCheckpoint reads the newest checkpoint that is intact. It fails with fs.ErrNotExist
// when there is none, and with the newest one's error when none is intact.
func newestCheckpoint(dir string) (State, *bundle.File, error) {
	paths, err := checkpoints(dir)
	if err != nil {
		return State{}, nil, err
	}
	var first error
	for _, p := range paths {
		st, b, err := readCheckpoint(p)
		if err == nil {
			return st, b, nil
		}
		first = errors.Join(first, err)
	}
	if first == nil {
		first = fmt.Errorf("no checkpoint in %s: %w", dir, fs.ErrNotExist)
	}
	return State{}, nil, first
}

// restore copies a checkpoint's vectors into v.
func restore(b *bundle.File, v *engine.Vectors) error {
	want := vectorTensors(v)
	if len(b.Tensors) != len(want) {
		return fmt.Errorf("it holds %d vectors, the model and optimizer need %d", len(b.Tensors), len(want))
	}
	for i, t := range b.Tensors {
		if t.Name != want[i].Name || len(t.Data) != len(want[i].Data) {
			return fmt.Errorf("it holds %s of %d numbers, the model and optimizer need %s of %d", t.Name, len(t.Data), want[i].Name, len(want[i].Data))
		}
	}
	for i, t := range b.Tensors {
		copy(want[i].Data, t.Data)
	}
	return nil
}
