package oracle

import (
	"fmt"
	"reflect"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
)

// New returns the engine.
func New() engine.Engine { return oracle{} }

type oracle struct{}

func (oracle) Name() string { return "oracle" }

func (oracle) Compile(g *graph.Graph, opt engine.Options) (engine.Program, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	layout := opt.Layout
	if layout == nil {
		l, err := engine.NewLayout(g)
		if err != nil {
			return nil, err
		}
		layout = l
	}
	if err := layout.Fits(g); err != nil {
		return nil, err
	}
	if err := gradsBeforeUpdates(g); err != nil {
		return nil, err
	}
	for _, n := range g.Nodes {
		if n.Op == "reshape" || len(n.In) == 0 && kernels[n.Op] == nil {
			continue
		}
		if _, err := kernelOf(n); err != nil {
			return nil, err
		}
	}
	return &program{g, layout, opt.SplitUpdate, planBuckets(layout, g, opt.BucketBytes)}, nil
}

// gradsBeforeUpdates verifies that no gradient is computed from an update's or clipping's result.
func gradsBeforeUpdates(g *graph.Graph) error {
	late := g.UpdateStage()
	for _, d := range g.Grads {
		if late[d.Value.Node.ID] {
			return fmt.Errorf("oracle: the gradient of %q depends on all gradients' norm or on an update", d.Param.Name)
		}
	}
	return nil
}

type program struct {
	g       *graph.Graph
	layout  *engine.Layout
	split   bool
	buckets []bucket
}

func (p *program) Layout() *engine.Layout { return p.layout }

func (p *program) Buckets() []engine.Range {
	rs := make([]engine.Range, len(p.buckets))
	for i, b := range p.buckets {
		rs[i] = b.Range
	}
	return rs
}

// Memory counts every value, since each keeps its own array for the whole run.
func (p *program) Memory() engine.Memory {
	m, err := newMachine(p.g)
	if err != nil { // Compile has found code for every node
		return engine.Memory{}
	}
	return engine.Memory{Arena: m.bytes(), LowerBound: m.bytes()}
}

func (p *program) Ops() []engine.OpInfo {
	infos := []engine.OpInfo{}
	for _, n := range p.g.Nodes {
		if len(n.In) == 0 {
			continue
		}
		out := ""
		for i, o := range n.Out {
			if i > 0 {
				out += " "
			}
			out += o.Spec.String()
		}
		infos = append(infos, engine.OpInfo{Op: n.Op, Path: n.Path, Kernel: "float64", Out: out, Flops: graph.Flops(n)})
	}
	return infos
}

func (p *program) NewReplica(v *engine.Vectors) (engine.Replica, error) {
	if err := fits(p.layout, v); err != nil {
		return nil, err
	}
	m, err := newMachine(p.g)
	if err != nil {
		return nil, err
	}
	return newReplica(p, m, v)
}

// fits verifies that the vectors have the program's layout.
func fits(l *engine.Layout, v *engine.Vectors) error {
	same := v.Layout == l || v.Layout != nil &&
		reflect.DeepEqual(v.Layout.Params, l.Params) && reflect.DeepEqual(v.Layout.States, l.States)
	if !same {
		return fmt.Errorf("oracle: the vectors are laid out for another model")
	}
	if len(v.Params) != l.ParamLen || len(v.Grads) != l.ParamLen || len(v.States) != l.StateLen || len(v.Slots) < l.Slots {
		return fmt.Errorf("oracle: the vectors are shorter than their layout")
	}
	return nil
}
