package nn

import (
	"encoding/json"
	"fmt"

	"millrace.dev/learn/tensor"
)

const (
	modelKind = "model"
	// maxNesting bounds how deep models stand within models in a description.
	maxNesting = 16
)

// description is a model as JSON. Layers are listed so that each comes after its operands; one
// that is applied again is listed again, without a kind. An operand is named by its
// application and, unless it is the first, its output: "dense_1", "dense_1#2", "split_1:1".
type description struct {
	Name    string             `json:"name"`
	Inputs  []inputDescription `json:"inputs"`
	Layers  []layerDescription `json:"layers"`
	Outputs []string           `json:"outputs"`
}

type inputDescription struct {
	Name  string       `json:"name"`
	Type  string       `json:"type"`
	Shape tensor.Shape `json:"shape"`
}

type layerDescription struct {
	Name string          `json:"name"`
	Kind string          `json:"kind,omitempty"`
	Spec json.RawMessage `json:"spec,omitempty"`
	In   []string        `json:"in"`
}

// MarshalJSON describes the model. It fails on a layer of a kind that is not registered, which
// nobody could read back.
func (m *Model) MarshalJSON() ([]byte, error) {
	d := description{Name: m.Name, Inputs: []inputDescription{}, Layers: []layerDescription{}}
	known := map[*Layer]bool{}
	for _, c := range m.calls {
		if c.input != nil {
			d.Inputs = append(d.Inputs, inputDescription{c.input.name, c.input.dtype.String(), c.input.shape})
			continue
		}
		l := layerDescription{Name: m.layers[c.layer], In: []string{}}
		for _, n := range c.in {
			l.In = append(l.In, m.ref(n))
		}
		if !known[c.layer] {
			if err := l.describe(c.layer.Spec); err != nil {
				return nil, m.errorf("layer %s: %w", l.Name, err)
			}
		}
		known[c.layer] = true
		d.Layers = append(d.Layers, l)
	}
	for _, n := range m.outputs {
		d.Outputs = append(d.Outputs, m.ref(n))
	}
	return json.Marshal(d)
}

func (l *layerDescription) describe(s Spec) (err error) {
	l.Kind = s.Kind()
	if _, ok := decoderOf(l.Kind); !ok && l.Kind != modelKind {
		return fmt.Errorf("it cannot be saved: the kind %q is not registered", l.Kind)
	}
	l.Spec, err = json.Marshal(s)
	return err
}

// ParseModel makes a model from its description. It executes nothing of it, and bounds what it
// builds.
func ParseModel(text []byte) (*Model, error) { return parseModel(text, 1) }

func parseModel(text []byte, depth int) (*Model, error) {
	if depth > maxNesting {
		return nil, &ModelError{"", fmt.Errorf("models stand more than %d deep in each other", maxNesting)}
	}
	var d description
	if err := strict(text, &d); err != nil {
		return nil, &ModelError{d.Name, fmt.Errorf("its description: %w", err)}
	}
	p := parser{nodes: map[string]*Node{}, layers: map[string]*Layer{}, uses: map[string]int{}, depth: depth}
	m, err := p.model(&d)
	if err != nil {
		return nil, fmt.Errorf("the description of %w", err)
	}
	return m, nil
}

// parser holds what of a description is made already.
type parser struct {
	nodes  map[string]*Node // by reference
	layers map[string]*Layer
	uses   map[string]int
	depth  int
}

func (p *parser) model(d *description) (*Model, error) {
	var inputs, outputs []*Node
	for _, in := range d.Inputs {
		dtype, err := tensor.ParseDType(in.Type)
		if err != nil {
			return nil, &ModelError{d.Name, fmt.Errorf("input %q: %w", in.Name, err)}
		}
		n := input(in.Name, dtype, in.Shape)
		inputs = append(inputs, n)
		p.nodes[in.Name] = n
	}
	for _, l := range d.Layers {
		if err := p.layer(&l); err != nil {
			return nil, &ModelError{d.Name, fmt.Errorf("layer %q: %w", l.Name, err)}
		}
	}
	for _, ref := range d.Outputs {
		n, err := p.find(ref)
		if err != nil {
			return nil, &ModelError{d.Name, fmt.Errorf("outputs: %w", err)}
		}
		outputs = append(outputs, n)
	}
	return NewModel(d.Name, inputs, outputs)
}

// layer makes a layer, or takes the one of this name again, and applies it.
func (p *parser) layer(d *layerDescription) error {
	l := p.layers[d.Name]
	if d.Kind != "" {
		if l != nil || p.nodes[d.Name] != nil {
			return fmt.Errorf("the name is taken")
		}
		s, err := p.spec(d.Kind, d.Spec)
		if err != nil {
			return err
		}
		l = NewLayer(d.Name, s)
		p.layers[d.Name] = l
	}
	if l == nil {
		return fmt.Errorf("it has no kind, and no layer of this name comes before it")
	}
	in := make([]*Node, len(d.In))
	for i, ref := range d.In {
		n, err := p.find(ref)
		if err != nil {
			return err
		}
		in[i] = n
	}
	ref := d.Name
	if p.uses[d.Name]++; p.uses[d.Name] > 1 {
		ref += fmt.Sprintf("#%d", p.uses[d.Name])
	}
	for i, n := range l.All(in...) {
		if i == 0 {
			p.nodes[ref] = n
		} else {
			p.nodes[fmt.Sprintf("%s:%d", ref, i)] = n
		}
	}
	return nil
}

func (p *parser) spec(kind string, text json.RawMessage) (Spec, error) {
	if kind == modelKind {
		return parseModel(text, p.depth+1)
	}
	decode, ok := decoderOf(kind)
	if !ok {
		return nil, fmt.Errorf("the kind %q is unknown; a custom layer must be registered with nn.Register before the model is read", kind)
	}
	s, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("its constants: %w", err)
	}
	return s, nil
}

// find gives the node of a reference. Since it must have come before, there are no cycles.
func (p *parser) find(ref string) (*Node, error) {
	if n := p.nodes[ref]; n != nil {
		return n, nil
	}
	return nil, fmt.Errorf("nothing that comes before is called %q: it is missing, or the layers form a cycle", ref)
}
