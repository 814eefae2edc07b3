package data

import (
	"fmt"
	"math"
)

// Image is one sample while it is augmented: rows of pixels, channels last.
type Image struct {
	Pix                     []float32 // Height·Width·Channels values, changed in place
	Height, Width, Channels int
	// Blank is what a black pixel reads as, per channel: the value to pad with.
	Blank   []float32
	scratch []float32
}

// newImage makes room for augmenting samples of ds, which are images.
func newImage(ds Dataset) *Image {
	s := ds.Shape()
	return &Image{Height: s[0], Width: s[1], Channels: s[2], Blank: blank(ds), scratch: make([]float32, SampleSize(ds))}
}

// Snapshot copies the pixels as they are now into memory that the image owns; it stays
// valid until the next call.
func (m *Image) Snapshot() []float32 {
	copy(m.scratch, m.Pix)
	return m.scratch
}

// Augment changes an image at random. Its choices come from r alone, so that they depend
// on (seed, epoch, sample, purpose) and on nothing else. Apply may run on several
// goroutines at once and allocates nothing.
type Augment interface {
	// Purpose names what the choices are for, such as "crop".
	Purpose() string
	// Validate tells whether it can be applied to images of this size.
	Validate(height, width, channels int) error
	Apply(m *Image, r *Rand)
}

// Crop pads an image by Pad blank pixels on every side and cuts the original size out of
// it at a random place.
type Crop struct{ Pad int }

// Purpose implements Augment.
func (c Crop) Purpose() string { return "crop" }

// Validate implements Augment.
func (c Crop) Validate(height, width, _ int) error {
	if c.Pad < 0 || c.Pad >= min(height, width) {
		return fmt.Errorf("crop: padding %d does not suit images of %d×%d", c.Pad, height, width)
	}
	return nil
}

// Apply implements Augment.
func (c Crop) Apply(m *Image, r *Rand) {
	dy := r.IntN(2*c.Pad+1) - c.Pad
	dx := r.IntN(2*c.Pad+1) - c.Pad
	if dy == 0 && dx == 0 {
		return
	}
	src := m.Snapshot()
	row := m.Width * m.Channels
	from, to := max(0, -dx), min(m.Width, m.Width-dx) // columns that come from the image
	for y := range m.Height {
		out := m.Pix[y*row : (y+1)*row]
		if y+dy < 0 || y+dy >= m.Height {
			m.clear(out)
			continue
		}
		in := src[(y+dy)*row : (y+dy+1)*row]
		m.clear(out[:from*m.Channels])
		copy(out[from*m.Channels:to*m.Channels], in[(from+dx)*m.Channels:])
		m.clear(out[to*m.Channels:])
	}
}

// clear makes whole pixels blank.
func (m *Image) clear(pix []float32) {
	for i := 0; i < len(pix); i += m.Channels {
		copy(pix[i:i+m.Channels], m.Blank)
	}
}

// Flip mirrors every other image left to right.
type Flip struct{}

// Purpose implements Augment.
func (Flip) Purpose() string { return "flip" }

// Validate implements Augment.
func (Flip) Validate(_, _, _ int) error { return nil }

// Apply implements Augment.
func (Flip) Apply(m *Image, r *Rand) {
	if r.Uint64()>>63 == 0 {
		return
	}
	row := m.Width * m.Channels
	for y := range m.Height {
		line := m.Pix[y*row : (y+1)*row]
		for i, j := 0, row-m.Channels; i < j; i, j = i+m.Channels, j-m.Channels {
			for c := range m.Channels {
				line[i+c], line[j+c] = line[j+c], line[i+c]
			}
		}
	}
}

// Jitter shifts an image by up to Shift pixels each way and turns it about its centre by up
// to Degrees, between pixels by bilinear interpolation. What comes in from outside is blank.
type Jitter struct {
	Shift   float32
	Degrees float32
}

// Purpose implements Augment.
func (Jitter) Purpose() string { return "jitter" }

// Validate implements Augment.
func (j Jitter) Validate(height, width, _ int) error {
	if !(j.Shift >= 0 && j.Shift < float32(min(height, width))) || !(j.Degrees >= 0 && j.Degrees <= 180) {
		return fmt.Errorf("jitter: a shift of %v pixels and a turn of %v degrees do not suit images of %d×%d", j.Shift, j.Degrees, height, width)
	}
	return nil
}

// Apply implements Augment.
func (j Jitter) Apply(m *Image, r *Rand) {
	dy, dx := r.Between(j.Shift), r.Between(j.Shift)
	sin64, cos64 := math.Sincos(float64(r.Between(j.Degrees)) * math.Pi / 180)
	sin, cos := float32(sin64), float32(cos64)
	src := m.Snapshot()
	cy, cx := float32(m.Height-1)/2, float32(m.Width-1)/2
	for y := range m.Height {
		for x := range m.Width {
			// The place in the source that lands on (y, x).
			v, u := float32(y)-cy-dy, float32(x)-cx-dx
			at := (y*m.Width + x) * m.Channels
			m.sample(m.Pix[at:at+m.Channels], src, float32(cos*v)-float32(sin*u)+cy, float32(sin*v)+float32(cos*u)+cx)
		}
	}
}

// sample interpolates the pixel at (y, x) of src.
func (m *Image) sample(out, src []float32, y, x float32) {
	fy, fx := math.Floor(float64(y)), math.Floor(float64(x))
	y0, x0 := int(fy), int(fx)
	wy, wx := y-float32(fy), x-float32(fx)
	for c := range out {
		top := blend(m.at(src, y0, x0, c), m.at(src, y0, x0+1, c), wx)
		bottom := blend(m.at(src, y0+1, x0, c), m.at(src, y0+1, x0+1, c), wx)
		out[c] = blend(top, bottom, wy)
	}
}

// blend goes from a to b by weight w. The conversion keeps the compiler from fusing the
// product into the sum, so that every machine gives the same bits.
func blend(a, b, w float32) float32 { return a + float32((b-a)*w) }

// at reads a value of src, blank outside of it.
func (m *Image) at(src []float32, y, x, c int) float32 {
	if y < 0 || y >= m.Height || x < 0 || x >= m.Width {
		return m.Blank[c]
	}
	return src[(y*m.Width+x)*m.Channels+c]
}

// Cutout sets a square of Size pixels around a random pixel to zero, which is the mean once
// values are normalised; the part of the square outside of the image is lost (DeVries and
// Taylor, arXiv:1708.04552, section 3).
type Cutout struct{ Size int }

// Purpose implements Augment.
func (Cutout) Purpose() string { return "cutout" }

// Validate implements Augment.
func (c Cutout) Validate(height, width, _ int) error {
	if c.Size <= 0 || c.Size > max(height, width) {
		return fmt.Errorf("cutout: a square of %d does not suit images of %d×%d", c.Size, height, width)
	}
	return nil
}

// Apply implements Augment.
func (c Cutout) Apply(m *Image, r *Rand) {
	top, left := r.IntN(m.Height)-c.Size/2, r.IntN(m.Width)-c.Size/2
	x0, x1 := max(left, 0), min(left+c.Size, m.Width)
	for y := max(top, 0); y < min(top+c.Size, m.Height); y++ {
		clear(m.Pix[(y*m.Width+x0)*m.Channels : (y*m.Width+x1)*m.Channels])
	}
}

// augmenter applies a list of augmentations, each with its own stream of choices.
type augmenter struct {
	list []Augment
	keys []uint64
	seed uint64
}

// newAugmenter checks the list against the samples. The second use of a purpose gets other
// choices than the first.
func newAugmenter(ds Dataset, list []Augment, seed uint64) (*augmenter, error) {
	if len(list) == 0 {
		return nil, nil
	}
	s := ds.Shape()
	if len(s) != 3 {
		return nil, fmt.Errorf("augmentation needs images; the samples have shape %v", s)
	}
	a := &augmenter{list: list, seed: seed}
	uses := map[string]uint64{}
	for _, x := range list {
		if err := x.Validate(s[0], s[1], s[2]); err != nil {
			return nil, err
		}
		a.keys = append(a.keys, purposeKey("augment "+x.Purpose())+uses[x.Purpose()])
		uses[x.Purpose()]++
	}
	return a, nil
}

// apply changes the pixels of a sample; r is scratch.
func (a *augmenter) apply(m *Image, pix []float32, r *Rand, epoch, index int) {
	m.Pix = pix
	for i, x := range a.list {
		*r = NewRand(a.seed, uint64(epoch), uint64(index), a.keys[i])
		x.Apply(m, r)
	}
}
