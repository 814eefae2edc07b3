package saved

import (
	"millrace.dev/learn/data"
	"millrace.dev/learn/tensor"
)

// borderSamples is how many samples, evenly spread, MeasureBorder reads.
const borderSamples = 256

// MeasureBorder is the mean of the outermost pixels of images, 0 for samples that are none.
// It tells an image on a light ground from the dark ones that a model was trained on.
func MeasureBorder(ds data.Dataset) (float32, error) {
	if len(ds.Shape()) != 3 {
		return 0, nil
	}
	pix := make([]float32, data.SampleSize(ds))
	sum, n := 0.0, 0
	for i := 0; i < ds.Len(); i += max(ds.Len()/borderSamples, 1) {
		if err := ds.Batch(pix, nil, []int{i}); err != nil {
			return 0, err
		}
		sum += float64(Border(pix, ds.Shape()))
		n++
	}
	return float32(sum / float64(n)), nil
}

// Border is the mean of the outermost pixels of an image of shape {height, width, channels}.
func Border(pix []float32, shape tensor.Shape) float32 {
	height, width, channels := shape[0], shape[1], shape[2]
	sum, n := 0.0, 0
	for y := range height {
		step := max(width-1, 1) // first and last column
		if y == 0 || y == height-1 {
			step = 1
		}
		for x := 0; x < width; x += step {
			for c := range channels {
				sum += float64(pix[(y*width+x)*channels+c])
				n++
			}
		}
	}
	return float32(sum / float64(n))
}

// LooksInverted reports whether an image, given with values from 0 to 1, has a ground as light
// as that of the training images was dark, or the other way round.
func (m *Model) LooksInverted(pix []float32) bool {
	b := Border(pix, m.Net.InputShape(0))
	return (b > 0.65 && m.Border < 0.35) || (b < 0.35 && m.Border > 0.65)
}
