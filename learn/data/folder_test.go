package data

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// plain makes an image of one colour in the format of the ending.
func plain(t testing.TB, ending string, width, height int, c color.Color) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.Set(x, y, c)
		}
	}
	return encoded(t, ending, img)
}

func encoded(t testing.TB, ending string, img image.Image) []byte {
	t.Helper()
	var buf bytes.Buffer
	var err error
	switch ending {
	case ".png":
		err = png.Encode(&buf, img)
	case ".jpg", ".jpeg":
		err = jpeg.Encode(&buf, img, &jpeg.Options{Quality: 100})
	case ".gif":
		err = gif.Encode(&buf, img, nil)
	case ".bmp":
		err = bmp.Encode(&buf, img)
	case ".tiff":
		err = tiff.Encode(&buf, img, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// makeFolder writes images of different formats and sizes, one grey level a class.
func makeFolder(t testing.TB, dir string, perClass int) {
	t.Helper()
	endings := []string{".png", ".jpg", ".gif", ".bmp", ".tiff"}
	for c, class := range []string{"dark", "light"} {
		for i := range perClass {
			ending := endings[i%len(endings)]
			name := filepath.Join(dir, class, string(rune('a'+i%26))+strings.Repeat("x", i/26)+ending)
			writeFile(t, name, plain(t, ending, 4+i, 6, color.Gray{uint8(60 + 120*c)}))
		}
	}
}

func TestOpenFolder(t *testing.T) {
	dir := t.TempDir()
	makeFolder(t, dir, 20)
	writeFile(t, filepath.Join(dir, "dark", "notes.txt"), []byte("not an image"))
	writeFile(t, filepath.Join(dir, "dark", ".hidden.png"), []byte("not an image"))
	writeFile(t, filepath.Join(dir, ".git", "x.png"), []byte("not an image"))
	for _, channels := range []int{1, 3} {
		set, err := Open(dir, Options{Height: 3, Width: 5, Color: channels == 3})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(set.Train.Classes(), []string{"dark", "light"}) || !slices.Equal(set.Train.Shape(), []int{3, 5, channels}) {
			t.Errorf("classes %v, shape %v", set.Train.Classes(), set.Train.Shape())
		}
		if set.Train.Len()+set.Test.Len() != 40 || set.Test.Len() < 2 || set.Test.Len() > 16 {
			t.Errorf("%d and %d samples", set.Train.Len(), set.Test.Len())
		}
		for _, ds := range []Dataset{set.Train, set.Test} {
			x, y := make([]float32, SampleSize(ds)), make([]int32, 1)
			for i := range ds.Len() {
				if err := ds.Batch(x, y, []int{i}); err != nil {
					t.Fatal(err)
				}
				for _, v := range x { // GIF's palette and JPEG's rounding are near, not exact
					if want := float64(60+120*y[0]) / 255; math.Abs(float64(v)-want) > 0.05 {
						t.Fatalf("a value of class %d is %v, want about %v", y[0], v, want)
					}
				}
			}
		}
	}
}

// A file keeps its split when others come or the folder moves.
func TestFolderSplitFollowsTheName(t *testing.T) {
	kept := func(extra int) map[string]bool {
		dir := t.TempDir()
		makeFolder(t, dir, 20+extra)
		f := &imageFolder{fs: os.DirFS(dir), dir: dir}
		if err := f.list(); err != nil {
			t.Fatal(err)
		}
		set, err := Open(dir, Options{Height: 1, Width: 1})
		if err != nil {
			t.Fatal(err)
		}
		test := map[string]bool{}
		for _, i := range set.Test.(*Subset).indices {
			test[f.pictures[i].name] = true
		}
		return test
	}
	few, more := kept(0), kept(10)
	for name := range few {
		if !more[name] {
			t.Errorf("%s left the test split when other files came", name)
		}
	}
}

func TestOpenDividedFolder(t *testing.T) {
	for _, second := range []string{"test", "val", "Test", "VAL"} {
		dir := t.TempDir()
		first := map[bool]string{true: "train", false: "Train"}[strings.ToLower(second) == second]
		makeFolder(t, filepath.Join(dir, first), 3)
		writeFile(t, filepath.Join(dir, second, "light", "deep", "l.png"), plain(t, ".png", 2, 2, color.White))
		set, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if set.Train.Len() != 6 || set.Test.Len() != 1 || !slices.Equal(set.Train.Shape(), []int{6, 4, 1}) {
			t.Errorf("%d and %d samples of shape %v", set.Train.Len(), set.Test.Len(), set.Train.Shape())
		}
		label := make([]int32, 1)
		if err := set.Test.Batch(nil, label, []int{0}); err != nil || label[0] != 1 {
			t.Errorf("label %d, %v", label[0], err)
		}
	}
}

func TestWrongFolderIsNamed(t *testing.T) {
	bad := func(prepare func(dir string)) string {
		dir := t.TempDir()
		makeFolder(t, dir, 2)
		prepare(dir)
		_, err := Open(dir, Options{})
		if err == nil {
			return "no error"
		}
		return strings.ReplaceAll(err.Error(), filepath.ToSlash(dir), "DIR")
	}
	for _, c := range []struct {
		want    string
		prepare func(dir string)
	}{
		{"DIR/dark/a.png: not a readable image", func(dir string) { writeFile(t, filepath.Join(dir, "dark", "a.png"), []byte("junk")) }},
		{"DIR/light/zz.jpg: not a readable image", func(dir string) { writeFile(t, filepath.Join(dir, "light", "zz.jpg"), nil) }},
		{"DIR/dark/a.png: the image is too large: 100000×100000 pixels", func(dir string) {
			b := plain(t, ".png", 1, 1, color.White)
			copy(b[16:], "\x00\x01\x86\xa0\x00\x01\x86\xa0")
			binary.BigEndian.PutUint32(b[29:], crc32.ChecksumIEEE(b[12:29]))
			writeFile(t, filepath.Join(dir, "dark", "a.png"), b)
		}},
		{"DIR/empty: holds no image", func(dir string) { writeFile(t, filepath.Join(dir, "empty", "x.txt"), nil) }},
		{"DIR/test/new: is a class that the training folder does not have", func(dir string) {
			makeFolder(t, filepath.Join(dir, "train"), 1)
			writeFile(t, filepath.Join(dir, "test", "new", "x.png"), nil)
		}},
		{"DIR: holds no folder; want one folder of images per class", func(dir string) {
			os.RemoveAll(filepath.Join(dir, "dark"))
			os.RemoveAll(filepath.Join(dir, "light"))
		}},
		{"DIR: holds no folder of images; name the file itself, such as x.NPY", func(dir string) {
			os.RemoveAll(filepath.Join(dir, "dark"))
			os.RemoveAll(filepath.Join(dir, "light"))
			writeFile(t, filepath.Join(dir, "x.NPY"), nil)
		}},
	} {
		if got := bad(c.prepare); !strings.HasPrefix(got, c.want) {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	dir := t.TempDir()
	makeFolder(t, dir, 2)
	if _, err := Open(dir, Options{Height: 3}); err == nil {
		t.Error("a height without a width is accepted")
	}
	if _, err := Open(dir, Options{Height: 10, Width: 10, Limit: 399}); err == nil || !strings.Contains(err.Error(), "limit of 399 bytes") {
		t.Errorf("got %v", err)
	}
}

func TestSkipBadImages(t *testing.T) {
	dir := t.TempDir()
	makeFolder(t, dir, 10)
	writeFile(t, filepath.Join(dir, "dark", "a.png"), []byte("junk"))
	writeFile(t, filepath.Join(dir, "light", "c.gif"), nil)
	set, err := Open(dir, Options{SkipBad: true})
	if err != nil {
		t.Fatal(err)
	}
	if set.Train.Len()+set.Test.Len() != 18 {
		t.Errorf("%d and %d samples", set.Train.Len(), set.Test.Len())
	}
	if len(set.Skipped) != 2 || !strings.Contains(set.Skipped[0], "dark/a.png") || !strings.Contains(set.Skipped[1], "light/c.gif") {
		t.Errorf("skipped %v", set.Skipped)
	}
	for _, class := range []string{"dark", "light"} {
		for _, f := range []string{"a.png", "b.jpg", "c.gif", "d.bmp", "e.tiff", "f.png", "g.jpg", "h.gif", "i.bmp", "j.tiff"} {
			writeFile(t, filepath.Join(dir, class, f), nil)
		}
	}
	if _, err := Open(dir, Options{SkipBad: true}); err == nil {
		t.Error("a folder without a readable image is accepted")
	}
}

func TestReadImage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.png")
	img := image.NewNRGBA(image.Rect(0, 0, 2, 1))
	img.Set(0, 0, color.NRGBA{200, 100, 50, 255})
	img.Set(1, 0, color.NRGBA{10, 20, 30, 255})
	writeFile(t, path, encoded(t, ".png", img))
	got, err := ReadImage(path, []int{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float32{200, 100, 50, 10, 20, 30} {
		if got[i] != want/255 {
			t.Errorf("value %d is %v, want %v", i, got[i], want/255)
		}
	}
	grey, err := ReadImage(path, []int{1, 2, 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []color.NRGBA{{200, 100, 50, 255}, {10, 20, 30, 255}} {
		want := color.GrayModel.Convert(c).(color.Gray).Y
		if grey[i] != float32(want)/255 {
			t.Errorf("grey %d is %v, want %v", i, grey[i]*255, want)
		}
	}
	// Halving both sides averages.
	half, err := ReadImage(path, []int{1, 1, 3})
	if err != nil || math.Abs(float64(half[0])*255-105) > 1 {
		t.Errorf("got %v, %v", half, err)
	}
	for _, shape := range [][]int{{4}, {1, 2, 2}, {0, 1, 1}} {
		if _, err := ReadImage(path, shape); err == nil {
			t.Errorf("shape %v is accepted", shape)
		}
	}
	if _, err := ReadImage(dir, []int{1, 1, 1}); err == nil || err.Error() != dir+": is a directory; want the file of an image" {
		t.Errorf("got %v", err)
	}
	if _, err := ReadImage(os.DevNull, []int{1, 1, 1}); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("got %v", err)
	}
	if _, err := ReadImage(filepath.Join(dir, "none.png"), []int{1, 1, 1}); err == nil || !strings.Contains(err.Error(), "none.png: no such file") {
		t.Errorf("got %v", err)
	}
}

// What is transparent lies on white, whatever colour is hidden in it, also when it is scaled.
func TestTransparentIsWhite(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 4, 2))
	for x, c := range []color.NRGBA{{0, 0, 0, 0}, {90, 0, 90, 0}, {0, 0, 0, 255}, {0, 0, 0, 102}} {
		img.Set(x, 0, c)
		img.Set(x, 1, c)
	}
	path := filepath.Join(t.TempDir(), "x.png")
	writeFile(t, path, encoded(t, ".png", img))
	for _, channels := range []int{1, 3} {
		got, err := ReadImage(path, []int{2, 4, channels})
		if err != nil {
			t.Fatal(err)
		}
		for x, want := range []float32{255, 255, 0, 153} {
			if v := got[x*channels] * 255; v != want {
				t.Errorf("%d channels: pixel %d is %v, want %v", channels, x, v, want)
			}
		}
		scaled, err := ReadImage(path, []int{1, 2, channels})
		if err != nil || scaled[0] < scaled[channels] || scaled[0] < 0.8 {
			t.Errorf("%d channels: scaled to %v, %v", channels, scaled, err)
		}
	}
}

// Grey images keep their exact values.
func TestGreyIsExact(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 256, 1))
	for i := range 256 {
		img.Pix[i] = uint8(i)
	}
	path := filepath.Join(t.TempDir(), "x.png")
	writeFile(t, path, encoded(t, ".png", img))
	got, err := ReadImage(path, []int{1, 256, 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if v != float32(i)/255 {
			t.Errorf("%d became %v", i, v*255)
		}
	}
}
