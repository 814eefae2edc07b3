package cpu

import (
	"errors"
	"fmt"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/internal/vec"
	"millrace.dev/learn/tensor"
)

// replica implements engine.Replica.
type replica struct {
	p        *program
	bound    []bound
	inputs   map[string]*tensor.Tensor
	outputs  map[string]*tensor.Tensor
	onBucket func(engine.Range)
	step     engine.Step
	helped   bool // this run has the pool's helpers
	binding  *binding
}

// binding gives ops the memory of one replica.
type binding struct {
	stores  *stores
	vectors *engine.Vectors
	layout  *engine.Layout
	arena   []byte
	scratch [][]float32 // for each worker
	step    *engine.Step
	op      *op
}

func (p *program) NewReplica(v *engine.Vectors) (engine.Replica, error) {
	if v == nil || v.Layout == nil || len(v.Params) != p.layout.ParamLen || len(v.Grads) != p.layout.ParamLen ||
		len(v.States) != p.layout.StateLen || len(v.Slots) < p.layout.Slots {
		return nil, errors.New("cpu: the vectors are not of the program's layout")
	}
	r := &replica{p: p, inputs: map[string]*tensor.Tensor{}, outputs: map[string]*tensor.Tensor{}}
	b := &binding{stores: p.stores, vectors: v, layout: p.layout, arena: tensor.AlignedBytes(p.arena), step: &r.step}
	for range len(p.pool.helpers) + 1 {
		b.scratch = append(b.scratch, tensor.AlignedF32(p.worker))
	}
	r.binding = b
	for _, o := range p.ops {
		b.op = o
		r.bound = append(r.bound, o.bind(b))
	}
	for _, in := range p.graph.Inputs {
		r.inputs[in.Name] = b.tensor(in)
	}
	for _, out := range p.graph.Outputs {
		r.outputs[out.Name] = b.tensor(out.Value)
	}
	return r, nil
}

// bytes is a value's memory.
func (b *binding) bytes(v *graph.Value) []byte {
	st := b.stores.of(v)
	n := v.Shape().Elems() * v.Spec.DType.Size()
	return b.arena[st.span.off : st.span.off+n : st.span.off+n]
}

// f32 is a float32 value's memory.
func (b *binding) f32(v *graph.Value) []float32 {
	st, n := b.stores.of(v), v.Shape().Elems()
	switch st.space {
	case inArena:
		return tensor.Cast[float32](b.bytes(v))
	case inParams:
		return b.vectors.Params[st.off : st.off+n : st.off+n]
	case inGrads:
		return b.vectors.Grads[st.off : st.off+n : st.off+n]
	case inSlots:
		return b.vectors.Slots[st.slot][st.off : st.off+n : st.off+n]
	case inStates:
		return b.vectors.States[st.off : st.off+n : st.off+n]
	default:
		return st.data
	}
}

func (b *binding) i32(v *graph.Value) []int32  { return tensor.Cast[int32](b.bytes(v)) }
func (b *binding) u8(v *graph.Value) []uint8   { return b.bytes(v) }
func (b *binding) u16(v *graph.Value) []uint16 { return tensor.Cast[uint16](b.bytes(v)) }

// work is the current op's shared work space.
func (b *binding) work() []float32 {
	return tensor.Cast[float32](b.arena[b.op.work.off : b.op.work.off+4*b.op.shared])
}

func (b *binding) tensor(v *graph.Value) *tensor.Tensor {
	var t *tensor.Tensor
	var err error
	if v.Spec.DType == tensor.Float32 {
		t, err = tensor.FromF32(b.f32(v), v.Shape()...)
	} else {
		t, err = tensor.View(v.Spec.DType, v.Shape(), b.bytes(v))
	}
	if err != nil {
		panic(err) // the sizes come from the value itself
	}
	return t
}

func (r *replica) Input(name string) *tensor.Tensor { return r.inputs[name] }

func (r *replica) Output(name string) *tensor.Tensor { return r.outputs[name] }

func (r *replica) OnBucket(f func(engine.Range)) { r.onBucket = f }

func (r *replica) Run(stage engine.Stage, step engine.Step) error {
	if stage != engine.All && !r.p.split {
		return errors.New("cpu: stages need a program compiled with SplitUpdate")
	}
	if r.onBucket != nil && !r.p.split {
		return errors.New("cpu: OnBucket needs a program compiled with SplitUpdate")
	}
	r.step = step
	return r.run(stage, nil)
}

// run executes a stage. visit, if not nil, is called after each op.
func (r *replica) run(stage engine.Stage, visit func(o *op) error) error {
	r.helped = r.p.pool.acquire()
	if r.helped {
		defer r.p.pool.release()
	}
	for i, o := range r.p.ops {
		if stage == engine.Backward && o.late || stage == engine.Update && !o.late {
			continue
		}
		if err := r.runOp(i); err != nil {
			return &engine.RunError{Path: o.node.Path, Op: o.node.Op, Err: err}
		}
		if visit != nil {
			if err := visit(o); err != nil {
				return err
			}
		}
		if r.onBucket != nil {
			for _, k := range r.p.ready[i] {
				r.onBucket(r.p.buckets[k])
			}
		}
	}
	return nil
}

// runOp executes one op, on the pool if this run has it.
func (r *replica) runOp(i int) error {
	b := &r.bound[i]
	for k := range b.phases {
		ph := &b.phases[k]
		if r.helped && ph.chunks > 1 {
			r.p.pool.do(ph.chunks, ph.run)
			continue
		}
		for c := range ph.chunks {
			ph.run(0, c)
		}
	}
	if b.check == nil {
		return nil
	}
	return b.check()
}

func (r *replica) Trace(step engine.Step) error {
	for _, pl := range r.p.layout.Params {
		if at := vec.Finite(r.binding.vectors.Param(pl.Name)); at >= 0 {
			value := float64(r.binding.vectors.Param(pl.Name)[at])
			err := &engine.NonFiniteError{What: fmt.Sprintf("weight %d of %s", at, pl.Name), Value: value}
			return &engine.RunError{Path: pl.Name, Op: "param", Err: err}
		}
	}
	traced, err := r.p.withoutUpdates()
	if err != nil {
		return err
	}
	t, err := traced.NewReplica(r.binding.scratchStates())
	if err != nil {
		return err
	}
	for name, in := range r.inputs {
		copy(t.(*replica).inputs[name].Bytes(), in.Bytes())
	}
	t.(*replica).step = step
	return t.(*replica).run(engine.All, t.(*replica).finite)
}

// finite reports the first float32 result of an op that is not finite.
func (r *replica) finite(o *op) error {
	for _, v := range o.node.Out {
		if v.Spec.DType != tensor.Float32 {
			continue
		}
		x := r.binding.f32(v)
		if at := vec.Finite(x); at >= 0 {
			err := &engine.NonFiniteError{What: fmt.Sprintf("result %d", at), Value: float64(x[at])}
			return &engine.RunError{Path: o.node.Path, Op: o.node.Op, Err: err}
		}
	}
	return nil
}

// scratchStates are the same weights with states and gradients of their own, so that a trace
// changes nothing.
func (b *binding) scratchStates() *engine.Vectors {
	v := *b.vectors
	v.States = append(tensor.AlignedF32(0), v.States...)
	v.Grads = tensor.AlignedF32(len(v.Grads))
	return &v
}

// withoutUpdates is the program with every update left out and no result sharing memory that
// a trace would need: the ops stay as they are, unfused.
func (p *program) withoutUpdates() (*program, error) {
	q := *p
	q.ops = nil
	for _, o := range p.ops {
		if o.node.Op == "update" {
			continue
		}
		plain := *o
		if o.update != nil {
			c := &compiler{uses: p.graph.Uses()}
			again, err := c.lower(o.node)
			if err != nil {
				return nil, err
			}
			again.work, again.shared = o.work, o.shared
			plain = *again
		}
		q.ops = append(q.ops, &plain)
	}
	q.ready = make([][]int, len(q.ops))
	return &q, nil
}
