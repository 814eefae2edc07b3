package data

import "slices"

// ReadSamples reads the samples in a .npy file, one after the other, not normalised: a single one
// of the given shape, or as many as its first axis has. Bytes are read from 0 to 1, as those of
// a data set.
func ReadSamples(path string, shape []int) ([]float32, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a, err := ReadNPY(f, path, 0)
	if err != nil {
		return nil, err
	}
	many := len(a.Shape) > 0 && a.Shape[0] > 0 && sameAxes(a.Shape[1:], shape)
	if !many && !sameAxes(a.Shape, shape) {
		return nil, wrongFile(path, "holds an array of shape %v; want a sample of shape %v, or several along a first axis", a.Shape, shape)
	}
	values := a.Floats()
	if a.Type == U8 {
		for i := range values {
			values[i] /= 255
		}
	}
	return values, checkFinite(path, "value", values, elements(shape))
}

// sameAxes compares shapes, where an axis of one element at the end may be left out.
func sameAxes(a, b []int) bool {
	for len(a) > 0 && a[len(a)-1] == 1 {
		a = a[:len(a)-1]
	}
	for len(b) > 0 && b[len(b)-1] == 1 {
		b = b[:len(b)-1]
	}
	return slices.Equal(a, b)
}
