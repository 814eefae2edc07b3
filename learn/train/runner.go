package train

import (
	"errors"
	"fmt"
	"slices"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/optim"
)

// runner is a replica of one program with its buffers at hand.
type runner struct {
	engine.Replica
	x      []float32
	y      []int32
	hyper  []float32
	loss   []float32
	logits []float32
	memory engine.Memory
}

func newRunner(p engine.Program, v *engine.Vectors, m *nn.Model) (*runner, error) {
	r, err := p.NewReplica(v)
	if err != nil {
		return nil, err
	}
	run := &runner{
		Replica: r,
		x:       r.Input(m.InputName(0)).F32(),
		y:       r.Input(TargetInput).I32(),
		loss:    r.Output(LossOutput).F32(),
		logits:  r.Output(LogitsOutput).F32(),
		memory:  p.Memory(),
	}
	if h := r.Input(optim.HyperInput); h != nil {
		run.hyper = h.F32()
	}
	return run, nil
}

// maxRunners is how many batch sizes have a runner at once. A trainer alone needs two; the shares
// of a group come in more sizes as its members change.
const maxRunners = 8

// runners makes the runner of each batch size when it is needed.
type runners struct {
	build func(batch int) (*runner, error)
	by    map[int]*runner
	used  []int // batch sizes, the one used last at the end
}

func newRunners(build func(batch int) (*runner, error)) *runners {
	return &runners{build: build, by: map[int]*runner{}}
}

func (rs *runners) of(batch int) (*runner, error) {
	r := rs.by[batch]
	if r == nil {
		var err error
		if r, err = rs.build(batch); err != nil {
			var outside *joinError
			if errors.As(err, &outside) {
				return nil, outside.error
			}
			return nil, fmt.Errorf("train: batch of %d: %w", batch, err)
		}
		rs.evict()
		rs.by[batch] = r
	}
	if i := slices.Index(rs.used, batch); i >= 0 {
		rs.used = append(rs.used[:i], rs.used[i+1:]...)
	}
	rs.used = append(rs.used, batch)
	return r, nil
}

// evict makes room for another runner: that of the size that was not used for longest goes, but
// never that of the largest, which is the full batch.
func (rs *runners) evict() {
	if len(rs.used) < maxRunners {
		return
	}
	at := 0
	if rs.used[0] == slices.Max(rs.used) {
		at = 1
	}
	delete(rs.by, rs.used[at])
	rs.used = append(rs.used[:at], rs.used[at+1:]...)
}
