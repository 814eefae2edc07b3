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

// imageSize reads the height and width of an image from its header.
func imageSize(folder fs.FS, name, label string) (height, width int, err error) {
	f, err := folder.Open(name)
	if err != nil {
		return 0, 0, &InputError{File: label, Offset: -1, Err: plainCause(err)}
	}
	defer f.Close()
	return decodeSize(f, label)
}

func decodeSize(r io.Reader, label string) (height, width int, err error) {
	c, _, err := image.DecodeConfig(r)
	if err != nil {
		return 0, 0, wrongFile(label, "not a readable image: %w", err)
	}
	if c.Width <= 0 || c.Height <= 0 {
		return 0, 0, wrongFile(label, "the image is empty: %d×%d pixels", c.Width, c.Height)
	}
	if c.Width > maxPixels/c.Height {
		return 0, 0, wrongFile(label, "the image is too large: %d×%d pixels, the limit is %d in all", c.Width, c.Height, maxPixels)
	}
	return c.Height, c.Width, nil
}

// readPixels decodes an image, scales it to shape and writes it to pix, channels last.
// Transparent parts are black. The label names the file in errors.
func readPixels(folder fs.FS, name, label string, pix []uint8, shape []int) error {
	f, err := folder.Open(name)
	if err != nil {
		return &InputError{File: label, Offset: -1, Err: plainCause(err)}
	}
	defer f.Close()
	if _, _, err := decodeSize(f, label); err != nil {
		return err
	}
	back, ok := f.(io.Seeker)
	if !ok {
		return errors.New("data: " + label + " cannot be read twice")
	}
	if _, err := back.Seek(0, io.SeekStart); err != nil {
		return wrongFile(label, "%w", err)
	}
	img, _, err := image.Decode(f)
	if err != nil {
		return wrongFile(label, "not a readable image: %w", err)
	}
	flatten(pix, scale(img, shape[0], shape[1]), shape[2])
	return nil
}

// scale gives an image of the wanted size: the same pixels when it has that size, else a
// tent-weighted mean of the pixels that each new one covers.
func scale(img image.Image, height, width int) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	if b := img.Bounds(); b.Dx() == width && b.Dy() == height {
		draw.Draw(out, out.Bounds(), img, b.Min, draw.Src)
	} else {
		draw.BiLinear.Scale(out, out.Bounds(), img, b, draw.Src, nil)
	}
	return out
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
