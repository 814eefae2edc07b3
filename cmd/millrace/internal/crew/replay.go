package crew

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"millrace.dev/group"
	"millrace.dev/group/reduce"
	"millrace.dev/group/steplog"
	"millrace.dev/internal/rundir"
	"millrace.dev/learn/data"
	"millrace.dev/learn/job"
	"millrace.dev/learn/train"
)

// Proof is what a replay has shown.
type Proof struct {
	Run      string   `json:"run"`
	Steps    int      `json:"steps"`
	Skipped  int      `json:"skipped"`  // of them, that changed nothing
	Workers  []string `json:"workers"`  // that took part at any time
	Views    int      `json:"views"`    // lists of workers that followed each other
	Epochs   int      `json:"epochs"`   // complete ones, in which each sample was used exactly once
	Samples  int      `json:"samples"`  // of an epoch
	Compared int      `json:"compared"` // points at which the workers' numbers were known, and the same
	Hash     uint64   `json:"hash"`     // of the state at the end

	vectors [][]float32
}

// MismatchError says from where on a replay does not end where the workers did.
type MismatchError struct {
	Step      uint64 // before which the numbers differ
	Got, Want uint64 // hashes: the replay's, the workers'
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("the numbers before step %d differ: the replay has %016x, the workers had %016x", e.Step, e.Got, e.Want)
}

// UnprovenError says which steps no log has, as after a full disk or where a process alone has trained: a
// replay ends before them.
type UnprovenError struct{ Gap steplog.GapError }

func (e *UnprovenError) Error() string {
	if e.Gap.From == 1 {
		return fmt.Sprintf("%v, so nothing can be proven: a machine that joined has no earlier ones, that of the first workers has", &e.Gap)
	}
	return fmt.Sprintf("%v: the %d steps before are proven, what came after is not", &e.Gap, e.Gap.From-1)
}

// Replay takes the steps in the logs of a run's workers again and compares. Each is told how many of how
// many steps are done, after every one. With an *UnprovenError the proof is of the steps before the gap, if there are
// some.
func Replay(ctx context.Context, dir rundir.Dir, each func(done, total int)) (*Proof, error) {
	steps, unproven, err := history(dir)
	if err != nil {
		return nil, err
	}
	switch {
	case len(steps) == 0 && unproven != nil:
		return nil, unproven
	case len(steps) == 0:
		return nil, &rundir.Error{Path: dir.Path(), Cause: errors.New("holds no steps of workers")}
	}
	s, err := job.Load(dir)
	if err != nil {
		return nil, err
	}
	j, err := job.New(s)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	p := &Proof{Run: dir.Path(), Steps: len(steps), Samples: j.Samples}
	if p.Epochs, err = used(steps, uint64(j.Samples)); err != nil {
		return nil, err
	}
	r, err := j.Replay()
	if err != nil {
		return nil, err
	}
	p.count(steps)
	for i := range steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := p.step(r, &steps[i]); err != nil {
			return nil, err
		}
		found, err := r.Matches(job.Checkpoints(dir))
		if err != nil {
			return nil, err
		}
		if found {
			p.Compared++
		}
		each(i+1, len(steps))
	}
	p.Hash = r.Hash()
	if unproven != nil {
		return p, unproven
	}
	return p, nil
}

// count counts who took part.
func (p *Proof) count(steps []steplog.Record) {
	workers, view := map[string]bool{}, uint64(0)
	for i := range steps {
		for _, part := range steps[i].Parts {
			workers[part.Name] = true
		}
		if steps[i].View != view {
			p.Views++
		}
		view = steps[i].View
	}
	p.Workers = slices.Sorted(maps.Keys(workers))
}

// step takes one step again.
func (p *Proof) step(r *train.Replay, record *steplog.Record) error {
	if record.Hash != 0 {
		p.Compared++
		if h := r.Hash(); h != record.Hash {
			return &MismatchError{record.Step, h, record.Hash}
		}
	}
	apply := record.Outcome == group.Apply.String()
	if !apply {
		p.Skipped++
		return r.Step(false, record.Rate)
	}
	var algorithm reduce.Algorithm
	if err := algorithm.UnmarshalText([]byte(record.Algorithm)); err != nil {
		return err
	}
	if len(r.Mean()) != record.Elements || record.Chunk != reduce.Chunk {
		return fmt.Errorf("step %d reduced %d elements in chunks of %d; here they are %d in chunks of %d", record.Step, record.Elements, record.Chunk, len(r.Mean()), reduce.Chunk)
	}
	locals, weights := make([][]float32, len(record.Parts)), make([]uint64, len(record.Parts))
	for k, part := range record.Parts {
		weights[k], locals[k] = part.Samples, p.vector(k, record.Elements)
		if part.Samples == 0 {
			continue // nothing of it is added
		}
		local, err := r.Local(share(record, &part))
		if err != nil {
			return fmt.Errorf("step %d, worker %s: %w", record.Step, part.Name, err)
		}
		copy(locals[k], local)
	}
	if _, err := reduce.Serial(algorithm, locals, weights, r.Mean()); err != nil {
		return err
	}
	return r.Step(true, record.Rate)
}

// vector is the k-th of those that a step is added up from.
func (p *Proof) vector(k, n int) []float32 {
	for len(p.vectors) <= k {
		p.vectors = append(p.vectors, make([]float32, n))
	}
	return p.vectors[k]
}

// share is a worker's part of a step as its trainer knew it.
func share(record *steplog.Record, part *steplog.Part) train.Share {
	s := train.Share{Epoch: int(record.DataEpoch), Offset: int(part.Offset), Scale: 1}
	for _, x := range part.Ranges {
		s.Spans = append(s.Spans, data.Span{From: int(x[0]), To: int(x[1])})
	}
	return s
}

// history is the steps of a run that count, up to the first that no log has: of each session those up to
// where the next one began.
func history(dir rundir.Dir) ([]steplog.Record, *UnprovenError, error) {
	list, err := sessions(dir)
	if err != nil {
		return nil, nil, err
	}
	var all []steplog.Record
	for i := range list {
		runs, err := steplog.Runs(list[i].logs()...)
		if err != nil {
			return nil, nil, &rundir.Error{Path: dir.Path(), Cause: err}
		}
		all = slices.DeleteFunc(all, func(r steplog.Record) bool { return r.Step > uint64(list[i].From) })
		all = append(all, slices.Concat(runs...)...)
	}
	for i := range all {
		if all[i].Step != uint64(i+1) {
			return all[:i], &UnprovenError{steplog.GapError{From: uint64(i + 1), To: all[i].Step - 1}}, nil
		}
	}
	return all, nil, nil
}

// used checks that each sample of every finished epoch was used exactly once, and of the last one at
// most once. It counts the complete ones.
func used(steps []steplog.Record, samples uint64) (epochs int, err error) {
	var seen []bool
	epoch, n := uint64(0), uint64(0)
	for i := range steps {
		s := &steps[i]
		if seen == nil || s.DataEpoch != epoch {
			if seen != nil && n != samples {
				return 0, fmt.Errorf("epoch %d used %d of %d samples", epoch+1, n, samples)
			}
			seen, epoch, n = make([]bool, samples), s.DataEpoch, 0
		}
		for _, part := range s.Parts {
			for _, r := range part.Ranges {
				for k := r[0]; k < r[1]; k++ {
					if k >= samples {
						return 0, fmt.Errorf("step %d used sample %d, but there are %d", s.Step, k, samples)
					}
					if seen[k] {
						return 0, fmt.Errorf("step %d of epoch %d used sample %d a second time", s.Step, epoch+1, k)
					}
					seen[k] = true
					n++
				}
			}
		}
		if n == samples {
			epochs = int(epoch) + 1
		}
	}
	return epochs, nil
}
