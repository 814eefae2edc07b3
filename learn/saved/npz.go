package saved

import (
	"io"

	"millrace.dev/learn/data"
	"millrace.dev/learn/engine"
	"millrace.dev/learn/nn"
)

// WriteNPZ writes the weights of a model as a NumPy archive.
func WriteNPZ(w io.Writer, m *nn.Model, v *engine.Vectors) error {
	var arrays []data.NamedArray
	for _, x := range m.Weights() {
		a, err := data.NewArray(x.Place(v), x.Shape...)
		if err != nil {
			return err
		}
		arrays = append(arrays, data.NamedArray{Name: x.Name, Array: a})
	}
	return data.WriteNPZ(w, arrays)
}

// ReadNPZ reads the weights of a model from a NumPy archive of the given size into v, which is
// left alone when they do not fit; that is a *nn.MismatchError. Name stands for the file in
// errors.
func ReadNPZ(r io.ReaderAt, size int64, name string, m *nn.Model, v *engine.Vectors) error {
	needed := m.Names()
	limit := int64(1)
	shapes := map[string]bool{}
	for _, n := range needed {
		limit += 8 * int64(n.Shape.Elems()) // float64 at the most
		shapes[n.Name] = true
	}
	z, err := data.ReadNPZ(r, size, name, limit)
	if err != nil {
		return err
	}
	found := []nn.Named{}
	arrays := map[string]*data.Array{}
	for _, key := range z.Names() {
		if !shapes[key] {
			found = append(found, nn.Named{Name: key})
			continue
		}
		a, err := z.Array(key)
		if err != nil {
			return err
		}
		arrays[key] = a
		found = append(found, nn.Named{Name: key, Shape: a.Shape})
	}
	if err := nn.CompareWeights(needed, found); err != nil {
		return &Error{name, err}
	}
	for _, w := range m.Weights() {
		copy(w.Place(v), arrays[w.Name].Floats())
	}
	return nil
}
