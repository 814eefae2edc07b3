package train

import (
	"fmt"

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

// runners makes the runner of each batch size when it is first needed.
type runners struct {
	build func(batch int) (*runner, error)
	by    map[int]*runner
}

func newRunners(build func(batch int) (*runner, error)) *runners {
	return &runners{build, map[int]*runner{}}
}

func (rs *runners) of(batch int) (*runner, error) {
	if r := rs.by[batch]; r != nil {
		return r, nil
	}
	r, err := rs.build(batch)
	if err != nil {
		return nil, fmt.Errorf("train: batch of %d: %w", batch, err)
	}
	rs.by[batch] = r
	return r, nil
}
