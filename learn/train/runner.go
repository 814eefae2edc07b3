package train

import (
	"errors"
	"fmt"
	"slices"

	"millrace.dev/learn/data"
	"millrace.dev/learn/engine"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/optim"
	"millrace.dev/learn/tensor"
)

// runner is a replica of one program with its buffers at hand.
type runner struct {
	engine.Replica
	samples tensor.Columns // the model's inputs
	targets tensor.Columns // of its outputs
	outputs [][]float32    // what it gives
	labels  []int32        // targets of the one output of a model that classifies; nil otherwise
	ignore  *int32         // of these
	hyper   []float32
	loss    []float32
	memory  engine.Memory
}

func newRunner(p engine.Program, v *engine.Vectors, m *nn.Model, losses []nn.Loss) (*runner, error) {
	r, err := p.NewReplica(v)
	if err != nil {
		return nil, err
	}
	run := &runner{Replica: r, loss: r.Output(LossOutput).F32(), memory: p.Memory()}
	var inputs, targets []*tensor.Tensor
	for i := range m.NumInputs() {
		inputs = append(inputs, r.Input(m.InputName(i)))
	}
	for i := range m.NumOutputs() {
		targets = append(targets, r.Input(numbered(TargetInput, i)))
		run.outputs = append(run.outputs, r.Output(numbered(LogitsOutput, i)).F32())
	}
	if len(losses) == 1 && losses[0].Classifies() {
		run.labels, run.ignore = targets[0].I32(), losses[0].Ignore
	}
	if run.samples, err = tensor.NewColumns(inputs...); err != nil {
		return nil, err
	}
	if run.targets, err = tensor.NewColumns(targets...); err != nil {
		return nil, err
	}
	if h := r.Input(optim.HyperInput); h != nil {
		run.hyper = h.F32()
	}
	return run, nil
}

// load puts a batch into the program's inputs.
func (r *runner) load(b *data.Batch) error {
	if err := r.samples.Put(b.X); err != nil {
		return &ConfigError{"samples: " + err.Error()}
	}
	if len(b.Targets) == 0 {
		copy(r.labels, b.Y)
		return nil
	}
	if err := r.targets.Put(b.Targets); err != nil {
		return &ConfigError{"targets: " + err.Error()}
	}
	return nil
}

// count adds what the batch b, which was run, has given.
func (r *runner) count(m *Metrics, b *data.Batch) {
	if r.labels != nil {
		m.add(float64(r.loss[0]), r.outputs[0], r.labels, r.ignore)
		return
	}
	m.Samples += len(b.Indices)
	m.LossSum += float64(r.loss[0]) * float64(len(b.Indices))
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
