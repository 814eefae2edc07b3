package saved

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"millrace.dev/internal/durable"
	"millrace.dev/learn/data"
	"millrace.dev/learn/engine"
	"millrace.dev/learn/internal/bundle"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/tensor"
)

const kind = "model"

// Model is a trained model and what is needed to use it. One that classifies has one input and
// one output, the logits; one without classes has any.
type Model struct {
	Net     *nn.Model
	Vectors *engine.Vectors
	Classes []string  // one for each logit; none when the outputs are numbers
	Norm    data.Norm // what a sample's values are normalised by; may be empty without classes
	Border  float32   // mean of the outermost pixels of the training images, from 0 to 1
	Data    string    // name of the data set
}

// Error says which file cannot be used, and why.
type Error struct {
	Path string
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// BadInput marks the error as the fault of the file.
func (e *Error) BadInput() bool { return true }

// header is what a file says of the model besides its weights.
type header struct {
	Net     json.RawMessage `json:"net"`
	Classes []string        `json:"classes"`
	Norm    data.Norm       `json:"norm"`
	Border  float32         `json:"border"`
	Data    string          `json:"data"`
}

// WriteFile replaces the file at path with the model.
func (m *Model) WriteFile(path string) error {
	return durable.WriteFile(path, m.Write)
}

// Write writes the model.
func (m *Model) Write(w io.Writer) error {
	if err := m.check(); err != nil {
		return err
	}
	net, err := m.Net.MarshalJSON()
	if err != nil {
		return err
	}
	meta, err := json.Marshal(header{net, m.Classes, m.Norm, m.Border, m.Data})
	if err != nil {
		return err
	}
	f := &bundle.File{Kind: kind, Meta: meta}
	for _, x := range m.Net.Weights() {
		f.Tensors = append(f.Tensors, bundle.Tensor{Name: x.Name, Shape: x.Shape, Data: x.Place(m.Vectors)})
	}
	return bundle.Write(w, f)
}

// Open reads the model at path.
func Open(path string) (*Model, error) {
	f, err := bundle.ReadFile(path)
	if err == nil {
		var m *Model
		if m, err = decode(f); err == nil {
			return m, nil
		}
	}
	var detail *fs.PathError
	if errors.As(err, &detail) {
		err = detail.Err // the path stands in the message already
	}
	return nil, &Error{path, err}
}

// Read reads a model of the given size.
func Read(r io.ReaderAt, size int64) (*Model, error) {
	f, err := bundle.Read(r, size)
	if err != nil {
		return nil, err
	}
	return decode(f)
}

func decode(f *bundle.File) (*Model, error) {
	if f.Kind != kind {
		return nil, fmt.Errorf("it is a %s, not a model", f.Kind)
	}
	var h header
	if err := json.Unmarshal(f.Meta, &h); err != nil {
		return nil, fmt.Errorf("its header: %w", err)
	}
	net, err := nn.ParseModel(h.Net)
	if err != nil {
		return nil, err
	}
	m := &Model{Net: net, Classes: h.Classes, Norm: h.Norm, Border: h.Border, Data: h.Data}
	if err := m.check(); err != nil {
		return nil, err
	}
	// Vectors are made only once the file is known to hold what they need.
	var found []nn.Named
	for _, t := range f.Tensors {
		found = append(found, nn.Named{Name: t.Name, Shape: t.Shape})
	}
	if err := nn.CompareWeights(net.Names(), found); err != nil {
		return nil, err
	}
	if m.Vectors, err = net.NewVectors(); err != nil {
		return nil, err
	}
	from := map[string][]float32{}
	for _, t := range f.Tensors {
		from[t.Name] = t.Data
	}
	for _, w := range net.Weights() {
		copy(w.Place(m.Vectors), from[w.Name])
	}
	return m, nil
}

// check tells whether the parts belong together.
func (m *Model) check() error {
	if err := m.checkInputs(); err != nil {
		return err
	}
	if len(m.Classes) == 0 {
		if len(m.Norm.Mean)+len(m.Norm.Std) == 0 {
			return nil
		}
		return m.Norm.Validate(m.shape())
	}
	if m.Net.NumInputs() != 1 || m.Net.NumOutputs() != 1 {
		return fmt.Errorf("model %s has %d inputs and %d outputs; with classes it has one of each", m.Net.Name, m.Net.NumInputs(), m.Net.NumOutputs())
	}
	if out := m.Net.OutputShape(0); len(out) != 1 || out[0] != len(m.Classes) {
		return fmt.Errorf("model %s gives %v for a sample, there are %d classes", m.Net.Name, out, len(m.Classes))
	}
	return m.Norm.Validate(m.shape())
}

func (m *Model) checkInputs() error {
	for i := range m.Net.NumInputs() {
		if in := m.Net.InputShape(i); len(in) == 0 || in.Elems() == 0 {
			return fmt.Errorf("model %s takes samples of shape %v", m.Net.Name, in)
		}
	}
	return nil
}

// shape is that of a sample: of the one input, or of the values of several one after the other.
func (m *Model) shape() tensor.Shape {
	if m.Net.NumInputs() == 1 {
		return m.Net.InputShape(0)
	}
	n := 0
	for i := range m.Net.NumInputs() {
		n += m.Net.InputShape(i).Elems()
	}
	return tensor.Shape{n}
}
