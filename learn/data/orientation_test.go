package data

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/iotest"
)

// exif makes the segment of an Exif directory with some tag and the orientation in it.
func exif(order binary.AppendByteOrder, orientation uint16) []byte {
	b := []byte("Exif\x00\x00")
	if order == binary.AppendByteOrder(binary.LittleEndian) {
		b = append(b, "II*\x00"...)
	} else {
		b = append(b, "MM\x00*"...)
	}
	b = order.AppendUint32(b, 8)
	b = order.AppendUint16(b, 2)
	for _, entry := range [][2]uint16{{0x0100, 77}, {exifTag, orientation}} {
		b = order.AppendUint16(b, entry[0])
		b = order.AppendUint16(b, 3) // one uint16
		b = order.AppendUint32(b, 1)
		b = order.AppendUint16(b, entry[1])
		b = append(b, 0, 0)
	}
	return append(b, 0, 0, 0, 0)
}

// withSegments puts segments at the head of a JPEG, a marker and a content each.
func withSegments(jpeg []byte, segments ...[]byte) []byte {
	b := slices.Clone(jpeg[:2])
	for _, s := range segments {
		b = append(b, 0xff, s[0])
		b = binary.BigEndian.AppendUint16(b, uint16(len(s)+1))
		b = append(b, s[1:]...)
	}
	return append(b, jpeg[2:]...)
}

func app1(content []byte) []byte { return append([]byte{0xe1}, content...) }

// corners is a photo 32 wide and 16 high of four grey areas: in its first row 0 and 80, in its
// second 160 and 240.
func corners(t testing.TB) []byte {
	img := image.NewGray(image.Rect(0, 0, 32, 16))
	for y := range 16 {
		for x := range 32 {
			img.SetGray(x, y, color.Gray{uint8(160*(y/8) + 80*(x/16))})
		}
	}
	return encoded(t, ".jpg", img)
}

// The standard's table: on which sides of the upright image the first row and column are.
func TestPhotosAreTurnedUpright(t *testing.T) {
	photo := corners(t)
	dir := t.TempDir()
	for orientation, upright := range map[uint16][4]float64{ // row by row
		0: {0, 80, 160, 240}, // no orientation there is
		1: {0, 80, 160, 240}, // top, left
		2: {80, 0, 240, 160}, // top, right
		3: {240, 160, 80, 0}, // bottom, right
		4: {160, 240, 0, 80}, // bottom, left
		5: {0, 160, 80, 240}, // left, top
		6: {160, 0, 240, 80}, // right, top
		7: {240, 80, 160, 0}, // right, bottom
		8: {80, 240, 0, 160}, // left, bottom
		9: {0, 80, 160, 240},
	} {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			path := filepath.Join(dir, "class", "photo.jpg")
			writeFile(t, path, withSegments(photo, []byte("\xe0JFIF\x00"), app1([]byte("http://ns.adobe.com/xap/1.0/\x00")), app1(exif(order, orientation))))
			got, err := ReadImage(path, []int{2, 2, 1})
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range upright {
				if math.Abs(float64(got[i])*255-want) > 39 { // areas flow into each other, but stay nearer to their own value
					t.Errorf("orientation %d: %v, want %v", orientation, got, upright)
					break
				}
			}
			f := &imageFolder{fs: os.DirFS(dir), dir: dir, pictures: []picture{{name: "class/photo.jpg"}}}
			shape, err := f.shape()
			if err != nil {
				t.Fatal(err)
			}
			want := []int{16, 32, 1}
			if orientation >= 5 && orientation <= 8 {
				want = []int{32, 16, 1}
			}
			if !slices.Equal(shape, want) {
				t.Errorf("orientation %d: shape %v, want %v", orientation, shape, want)
			}
		}
	}
}

// Whatever an Exif segment holds, the image is read, and at its own size exactly.
func TestDamagedExifIsIgnored(t *testing.T) {
	photo, good := corners(t), exif(binary.LittleEndian, 6)
	for end := range len(good) - 4 - 2 - 2 { // up to the orientation's value
		if got := jpegOrientation(bytes.NewReader(withSegments(photo, app1(good[:end])))); got != 1 {
			t.Errorf("cut after %d bytes: orientation %d", end, got)
		}
	}
	for name, b := range map[string][]byte{
		"empty": nil, "no JPEG": []byte("\x89PNG"), "no segments": photo,
		"ends in a segment":  withSegments(photo, app1(good))[:20],
		"size below 2":       append(slices.Clone(photo[:2]), 0xff, 0xe1, 0, 1),
		"after the scan":     append(slices.Clone(photo), withSegments(photo, app1(good))...),
		"offset out of file": withSegments(photo, app1([]byte("Exif\x00\x00II*\x00\xff\xff\xff\xff"))),
		"many segments":      withSegments(photo, append(slices.Repeat([][]byte{{0xe2}}, exifSegments), app1(good))...),
	} {
		if got := jpegOrientation(bytes.NewReader(b)); got != 1 {
			t.Errorf("%s: orientation %d", name, got)
		}
	}
	if got := jpegOrientation(iotest.OneByteReader(bytes.NewReader(withSegments(photo, app1(good))))); got != 6 {
		t.Errorf("read byte by byte: orientation %d", got)
	}
}

func FuzzOrientation(f *testing.F) {
	photo := corners(f)
	f.Add(photo)
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		f.Add(withSegments(photo, []byte("\xe0JFIF\x00"), app1(exif(order, 6))))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		bound(t, len(b), false, func() {
			if got := jpegOrientation(bytes.NewReader(b)); got < 1 || got > 8 {
				t.Errorf("orientation %d", got)
			}
		})
	})
}
