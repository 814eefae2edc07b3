package data

import (
	"errors"
	"image"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	// The formats that images may have.
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"

	_ "golang.org/x/image/bmp"
	"golang.org/x/image/draw"
	_ "golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"
)

// maxPixels bounds an image before it is decoded: 8192×8192, which takes up to 512 MiB
// while it is scaled, at 8 bytes a pixel for 16-bit colours.
const maxPixels = 1 << 26

// imageExtensions are the endings that make a file in a folder an image.
var imageExtensions = map[string]bool{
	".png": true, ".jpg": true, ".jpeg": true, ".gif": true,
	".bmp": true, ".tif": true, ".tiff": true, ".webp": true,
}

// ReadImage reads one image as a sample of the given shape {height, width, channels}, with
// 1 (grey) or 3 (red, green, blue) channels and values from 0 to 1: what a network trained
// on a folder of images takes, before normalisation.
func ReadImage(path string, shape []int) ([]float32, error) {
	if err := checkShape(path, shape); err != nil {
		return nil, err
	}
	if len(shape) != 3 || shape[2] != 1 && shape[2] != 3 {
		return nil, wrongFile(path, "an image cannot be made a sample of shape %v; want 1 or 3 channels", shape)
	}
	pix := make([]uint8, elements(shape))
	if err := readPixels(os.DirFS(filepath.Dir(path)), filepath.Base(path), path, pix, shape); err != nil {
		return nil, err
	}
	out := make([]float32, len(pix))
	for i, v := range pix {
		out[i] = float32(v) / 255
	}
	return out, nil
}

// imageFile is an image whose header has been read.
type imageFile struct {
	io.ReadSeekCloser
	label         string // names the file in errors
	height, width int    // as stored, not as turned upright
	orientation   int
}

// openImage opens an image and reads its header, within the bounds on its size.
func openImage(folder fs.FS, name, label string) (*imageFile, error) {
	info, err := fs.Stat(folder, name)
	if err != nil {
		return nil, &InputError{File: label, Offset: -1, Err: plainCause(err)}
	}
	if info.IsDir() {
		return nil, wrongFile(label, "is a directory; want the file of an image")
	}
	if !info.Mode().IsRegular() {
		return nil, wrongFile(label, "is not a regular file; want the file of an image")
	}
	f, err := folder.Open(name)
	if err != nil {
		return nil, &InputError{File: label, Offset: -1, Err: plainCause(err)}
	}
	i := &imageFile{label: label}
	var ok bool
	if i.ReadSeekCloser, ok = f.(io.ReadSeekCloser); !ok {
		f.Close()
		return nil, errors.New("data: " + label + " cannot be read twice")
	}
	if err := i.readHeader(); err != nil {
		f.Close()
		return nil, err
	}
	return i, nil
}

func (i *imageFile) readHeader() error {
	c, format, err := image.DecodeConfig(i)
	if err != nil {
		return wrongFile(i.label, "not a readable image: %w", err)
	}
	if c.Width <= 0 || c.Height <= 0 {
		return wrongFile(i.label, "the image is empty: %d×%d pixels", c.Width, c.Height)
	}
	if c.Width > maxPixels/c.Height {
		return wrongFile(i.label, "the image is too large: %d×%d pixels, the limit is %d in all", c.Width, c.Height, maxPixels)
	}
	i.height, i.width, i.orientation = c.Height, c.Width, 1
	if format == "jpeg" {
		if err := i.rewind(); err != nil {
			return err
		}
		i.orientation = jpegOrientation(i)
	}
	return i.rewind()
}

func (i *imageFile) rewind() error {
	if _, err := i.Seek(0, io.SeekStart); err != nil {
		return wrongFile(i.label, "%w", err)
	}
	return nil
}

// imageSize reads the height and width of an image, once upright, from its header.
func imageSize(folder fs.FS, name, label string) (height, width int, err error) {
	f, err := openImage(folder, name, label)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	if sideways(f.orientation) {
		return f.width, f.height, nil
	}
	return f.height, f.width, nil
}

// readPixels decodes an image, scales it to shape, turns it upright and writes it to pix,
// channels last. Transparent parts are white. The label names the file in errors.
func readPixels(folder fs.FS, name, label string, pix []uint8, shape []int) error {
	f, err := openImage(folder, name, label)
	if err != nil {
		return err
	}
	defer f.Close()
	img, _, err := image.Decode(f)
	if err != nil {
		return wrongFile(label, "not a readable image: %w", err)
	}
	height, width := shape[0], shape[1]
	if sideways(f.orientation) {
		height, width = width, height
	}
	flatten(pix, turn(scale(img, height, width), f.orientation), shape[2])
	return nil
}

// scale gives an image of the wanted size on a white ground: the same pixels when it has that size, else a
// tent-weighted mean of the pixels that each new one covers.
func scale(img image.Image, height, width int) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	if b := img.Bounds(); b.Dx() == width && b.Dy() == height {
		draw.Draw(out, out.Bounds(), img, b.Min, draw.Src)
	} else {
		draw.BiLinear.Scale(out, out.Bounds(), img, b, draw.Src, nil)
	}
	whiten(out)
	return out
}

// whiten puts white behind an image whose colours are multiplied by their opacity.
func whiten(img *image.RGBA) {
	for at := 0; at < len(img.Pix); at += 4 {
		p := img.Pix[at : at+4]
		behind := 255 - p[3]
		p[0], p[1], p[2], p[3] = p[0]+behind, p[1]+behind, p[2]+behind, 255
	}
}

// flatten writes the pixels channels last; grey is the luma of ITU-R BT.601.
func flatten(pix []uint8, img *image.RGBA, channels int) {
	for i, at := 0, 0; at < len(img.Pix); i, at = i+channels, at+4 {
		r, g, b := img.Pix[at], img.Pix[at+1], img.Pix[at+2]
		if channels == 3 {
			pix[i], pix[i+1], pix[i+2] = r, g, b
			continue
		}
		pix[i] = uint8((19595*uint32(r) + 38470*uint32(g) + 7471*uint32(b) + 1<<15) >> 16)
	}
}
