package oracle

import (
	"fmt"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
)

type replica struct {
	p        *program
	m        *machine
	v        *engine.Vectors
	inputs   map[string]*tensor.Tensor
	outputs  map[string]*tensor.Tensor
	onBucket func(engine.Range)
	kept     []kept
	grads    [][]int // for each node, the indices of g.Grads that it completes
}

// kept ties a param, slot or state to its part of the vectors.
type kept struct {
	value  *array
	vector []float32
	backw  bool // overwritten in the backward stage
	update bool // overwritten in the update stage
}

func newReplica(p *program, m *machine, v *engine.Vectors) (*replica, error) {
	r := &replica{p: p, m: m, v: v, inputs: map[string]*tensor.Tensor{}, outputs: map[string]*tensor.Tensor{}}
	for _, in := range p.g.Inputs {
		t, err := tensor.New(in.Spec.DType, in.Shape()...)
		if err != nil {
			return nil, err
		}
		r.inputs[in.Name] = t
	}
	for _, o := range p.g.Outputs {
		t, err := tensor.New(o.Value.Spec.DType, o.Value.Shape()...)
		if err != nil {
			return nil, err
		}
		r.outputs[o.Name] = t
	}
	r.bindVectors()
	r.grads = make([][]int, len(p.g.Nodes))
	for k, d := range p.g.Grads {
		id := d.Value.Node.ID
		r.grads[id] = append(r.grads[id], k)
	}
	return r, nil
}

func (r *replica) bindVectors() {
	backw, update := map[*graph.Value]bool{}, map[*graph.Value]bool{}
	for _, o := range r.m.ops {
		def, _ := graph.Lookup(o.node.Op)
		for _, k := range def.Mutates {
			if k >= len(o.node.In) {
				continue
			}
			if o.late {
				update[o.node.In[k]] = true
			} else {
				backw[o.node.In[k]] = true
			}
		}
	}
	keep := func(v *graph.Value, vector []float32) {
		r.kept = append(r.kept, kept{r.m.values[v], vector, backw[v], update[v]})
	}
	for _, v := range r.p.g.Params {
		keep(v, r.v.Param(v.Name))
	}
	for _, v := range r.p.g.States {
		keep(v, r.v.State(v.Name))
	}
	for _, v := range r.p.g.Slots {
		keep(v, r.v.Slot(v.Slot, v.SlotOf.Name))
	}
}

func (r *replica) Input(name string) *tensor.Tensor  { return r.inputs[name] }
func (r *replica) Output(name string) *tensor.Tensor { return r.outputs[name] }
func (r *replica) OnBucket(f func(rg engine.Range))  { r.onBucket = f }
func (r *replica) Trace(step engine.Step) error      { r.load(); return r.m.trace(step) }
func (r *replica) gradVector(d graph.Grad) []float32 { return r.v.Grad(d.Param.Name) }

// Run executes a stage. Only when all of it went well are params, slots and states stored.
func (r *replica) Run(stage engine.Stage, step engine.Step) error {
	if stage > engine.Update {
		return fmt.Errorf("oracle: there is no stage %d", stage)
	}
	if stage != engine.All && !r.p.split {
		return fmt.Errorf("oracle: running a part of a step needs a program with SplitUpdate")
	}
	if r.onBucket != nil && !r.p.split {
		return fmt.Errorf("oracle: OnBucket needs a program with SplitUpdate")
	}
	r.load()
	if stage != engine.Update {
		if err := r.backward(step); err != nil {
			return err
		}
	}
	if stage != engine.Backward {
		if err := r.update(step); err != nil {
			return err
		}
	}
	r.store(stage)
	return nil
}

func (r *replica) load() {
	for name, t := range r.inputs {
		v, _ := r.p.g.Lookup(name)
		r.m.values[v].load(t)
	}
	for _, k := range r.kept {
		loadF32(k.value.f, k.vector)
	}
}

func (r *replica) backward(step engine.Step) error {
	next := 0
	for i := range r.m.ops {
		o := &r.m.ops[i]
		if o.late {
			continue
		}
		if err := r.m.exec(o, step); err != nil {
			return err
		}
		for _, k := range r.grads[i] {
			d := r.p.g.Grads[k]
			storeF32(r.gradVector(d), r.m.values[d.Value].f)
		}
		for ; next < len(r.p.buckets) && r.p.buckets[next].done <= i; next++ {
			if r.onBucket != nil {
				r.onBucket(r.p.buckets[next].Range)
			}
		}
	}
	return nil
}

// update reads the gradients back, as others may have changed them.
func (r *replica) update(step engine.Step) error {
	for k, d := range r.p.g.Grads {
		loadF32(r.m.grads[k].f, r.gradVector(d))
	}
	return r.m.each(true, func(o *op) error { return r.m.exec(o, step) })
}

func (r *replica) store(stage engine.Stage) {
	for _, o := range r.p.g.Outputs {
		r.m.values[o.Value].store(r.outputs[o.Name])
	}
	for _, k := range r.kept {
		if k.backw && stage != engine.Update || k.update && stage != engine.Backward {
			storeF32(k.vector, k.value.f)
		}
	}
}
