package data

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// testImage makes an image of distinct values.
func testImage(height, width, channels int) *Image {
	m := &Image{Height: height, Width: width, Channels: channels, Blank: make([]float32, channels)}
	for c := range m.Blank {
		m.Blank[c] = -float32(c + 1)
	}
	m.Pix = make([]float32, height*width*channels)
	for i := range m.Pix {
		m.Pix[i] = float32(i + 1)
	}
	m.scratch = make([]float32, len(m.Pix))
	return m
}

// pixel reads a value of pix, blank outside.
func pixel(m *Image, pix []float32, y, x, c int) float32 { return m.at(pix, y, x, c) }

// A crop is some shift of the padded image by at most Pad each way, and all are used.
func TestCropIsAShift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, w, ch := rapid.IntRange(1, 6).Draw(t, "h"), rapid.IntRange(1, 6).Draw(t, "w"), rapid.IntRange(1, 3).Draw(t, "c")
		crop := Crop{Pad: rapid.IntRange(0, min(h, w)-1).Draw(t, "pad")}
		if err := crop.Validate(h, w, ch); err != nil {
			t.Fatal(err)
		}
		m := testImage(h, w, ch)
		before := slices.Clone(m.Pix)
		r := NewRand(rapid.Uint64().Draw(t, "seed"), 0, 0, 0)
		crop.Apply(m, &r)
		for dy := -crop.Pad; dy <= crop.Pad; dy++ {
			for dx := -crop.Pad; dx <= crop.Pad; dx++ {
				if isShift(m, before, dy, dx) {
					return
				}
			}
		}
		t.Fatalf("%v is no shift of %v by up to %d", m.Pix, before, crop.Pad)
	})
}

func isShift(m *Image, before []float32, dy, dx int) bool {
	for y := range m.Height {
		for x := range m.Width {
			for c := range m.Channels {
				if pixel(m, m.Pix, y, x, c) != pixel(m, before, y+dy, x+dx, c) {
					return false
				}
			}
		}
	}
	return true
}

func TestCropUsesEveryShiftEvenly(t *testing.T) {
	counts := map[float32]int{}
	const n = 9000
	for i := range n {
		m := testImage(3, 3, 1)
		r := NewRand(1, 0, uint64(i), 2)
		Crop{Pad: 1}.Apply(m, &r)
		counts[m.Pix[4]]++ // where the centre came from tells the shift
	}
	for v := float32(1); v <= 9; v++ {
		if c := counts[v]; math.Abs(float64(c)-n/9) > 5*math.Sqrt(n/9) {
			t.Errorf("shift %v came %d times of %d", v, c, n)
		}
	}
}

func TestFlip(t *testing.T) {
	flipped := 0
	for i := range 1000 {
		m := testImage(2, 3, 2)
		before := slices.Clone(m.Pix)
		r := NewRand(7, 1, uint64(i), 0)
		Flip{}.Apply(m, &r)
		if slices.Equal(m.Pix, before) {
			continue
		}
		flipped++
		for y := range 2 {
			for x := range 3 {
				for c := range 2 {
					if pixel(m, m.Pix, y, x, c) != pixel(m, before, y, 2-x, c) {
						t.Fatalf("%v is not the mirror of %v", m.Pix, before)
					}
				}
			}
		}
	}
	if flipped < 420 || flipped > 580 {
		t.Errorf("%d of 1000 are flipped", flipped)
	}
}

// turned gives a sample as Jitter would place it, from a fixed turn and shift, by the
// definition of a rotation in float64.
func turned(m *Image, before []float32, dy, dx, turn float64) []float64 {
	sin, cos := math.Sincos(turn)
	cy, cx := float64(m.Height-1)/2, float64(m.Width-1)/2
	var out []float64
	for y := range m.Height {
		for x := range m.Width {
			v, u := float64(y)-cy-dy, float64(x)-cx-dx
			sy, sx := cos*v-sin*u+cy, sin*v+cos*u+cx
			y0, x0 := math.Floor(sy), math.Floor(sx)
			for c := range m.Channels {
				sum := 0.0
				for _, k := range [][2]float64{{0, 0}, {0, 1}, {1, 0}, {1, 1}} {
					weight := (1 - math.Abs(sy-y0-k[0])) * (1 - math.Abs(sx-x0-k[1]))
					sum += weight * float64(pixel(m, before, int(y0+k[0]), int(x0+k[1]), c))
				}
				out = append(out, sum)
			}
		}
	}
	return out
}

func TestJitterAgainstDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := Jitter{Shift: float32(rapid.Float64Range(0, 2).Draw(t, "shift")), Degrees: float32(rapid.Float64Range(0, 180).Draw(t, "degrees"))}
		seed := rapid.Uint64().Draw(t, "seed")
		m := testImage(5, 4, 2)
		before := slices.Clone(m.Pix)
		r := NewRand(seed, 0, 0, 0)
		j.Apply(m, &r)
		r = NewRand(seed, 0, 0, 0)
		dy, dx := float64(r.Between(j.Shift)), float64(r.Between(j.Shift))
		want := turned(m, before, dy, dx, float64(r.Between(j.Degrees))*math.Pi/180)
		for i := range want {
			if math.Abs(want[i]-float64(m.Pix[i])) > 1e-3 {
				t.Fatalf("value %d is %v, want %v", i, m.Pix[i], want[i])
			}
		}
	})
}

func TestJitterOfNothingChangesNothing(t *testing.T) {
	m := testImage(5, 4, 3)
	before := slices.Clone(m.Pix)
	r := NewRand(1, 2, 3, 4)
	Jitter{}.Apply(m, &r)
	if !slices.Equal(m.Pix, before) {
		t.Errorf("%v became %v", before, m.Pix)
	}
}

func TestCutoutZeroesOneSquare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 5).Draw(t, "size")
		m := testImage(5, 5, 2)
		before := slices.Clone(m.Pix)
		r := NewRand(rapid.Uint64().Draw(t, "seed"), 0, 0, 0)
		Cutout{Size: size}.Apply(m, &r)
		top, left, bottom, right := 5, 5, -1, -1
		for i, v := range m.Pix {
			if v == before[i] {
				continue
			}
			if v != 0 {
				t.Fatalf("value %d became %v", i, v)
			}
			y, x := i/10, i/2%5
			top, left, bottom, right = min(top, y), min(left, x), max(bottom, y), max(right, x)
		}
		if bottom < 0 || bottom-top >= size || right-left >= size {
			t.Fatalf("rows %d to %d, columns %d to %d are cut out with size %d", top, bottom, left, right, size)
		}
		zero := 0
		for _, v := range m.Pix {
			if v == 0 {
				zero++
			}
		}
		if zero != 2*(bottom-top+1)*(right-left+1) {
			t.Fatal("what is cut out is no rectangle")
		}
	})
}

func TestAugmentRefusesNonsense(t *testing.T) {
	images, vectors := small(t, 3, 4, 4, 1), small(t, 3, 16)
	for _, a := range []Augment{Crop{Pad: -1}, Crop{Pad: 4}, Jitter{Shift: 4}, Jitter{Degrees: -1}, Jitter{Degrees: float32(math.NaN())}, Cutout{}, Cutout{Size: 5}} {
		if _, err := newAugmenter(images, []Augment{a}, 0); err == nil {
			t.Errorf("%#v is accepted", a)
		}
	}
	if _, err := newAugmenter(vectors, []Augment{Flip{}}, 0); err == nil {
		t.Error("vectors are flipped")
	}
}

// The choices for a sample depend on seed, epoch, sample and purpose: each changes them,
// and a second use of a purpose has its own.
func TestAugmentChoicesFollowTheKey(t *testing.T) {
	ds := small(t, 3, 8, 8, 1)
	run := func(seed uint64, epoch, index int, list ...Augment) []float32 {
		a, err := newAugmenter(ds, list, seed)
		if err != nil {
			t.Fatal(err)
		}
		m := newImage(ds)
		pix := make([]float32, 64)
		for i := range pix {
			pix[i] = float32(i + 1)
		}
		var r Rand
		a.apply(m, pix, &r, epoch, index)
		return pix
	}
	j := Jitter{Shift: 3, Degrees: 90}
	base := run(1, 2, 3, j)
	if !slices.Equal(base, run(1, 2, 3, j)) {
		t.Error("the same key gives two results")
	}
	for name, other := range map[string][]float32{
		"seed": run(2, 2, 3, j), "epoch": run(1, 3, 3, j), "index": run(1, 2, 2, j), "use": run(1, 2, 3, j, j),
	} {
		if slices.Equal(base, other) {
			t.Errorf("another %s gives the same result", name)
		}
	}
}
