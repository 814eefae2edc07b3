package report

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"math"

	"millrace.dev/learn/data"
	"millrace.dev/learn/internal/vec"
)

// Mistake is a sample that a model gets wrong.
type Mistake struct {
	Index       int // in the data set
	Label       int
	Guess       int
	Probability float64 // of the guess
}

// Judge says what a model makes of a sample from its logits.
func Judge(index, label int, logits []float32) Mistake {
	guess := max(vec.ArgMax(logits), 0)
	sum := 0.0
	for _, x := range logits {
		sum += math.Exp(float64(x) - float64(logits[guess]))
	}
	return Mistake{index, label, guess, 1 / sum}
}

// picture is a sample as a PNG image in a data URL, "" where it is no image of one or three
// channels.
func picture(ds data.Dataset, index int) (string, error) {
	s := ds.Shape()
	if len(s) != 3 || s[2] != 1 && s[2] != 3 {
		return "", nil
	}
	pix := make([]float32, data.SampleSize(ds))
	if err := ds.Batch(pix, nil, []int{index}); err != nil {
		return "", err
	}
	img := image.NewNRGBA(image.Rect(0, 0, s[1], s[0]))
	for y := range s[0] {
		for x := range s[1] {
			at := (y*s[1] + x) * s[2]
			img.SetNRGBA(x, y, color.NRGBA{level(pix[at]), level(pix[at+s[2]/2]), level(pix[at+s[2]-1]), 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return "", err
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

// level is a value from 0 to 1 as a byte.
func level(v float32) uint8 { return uint8(min(max(v, 0), 1)*255 + 0.5) }
