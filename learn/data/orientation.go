package data

import (
	"bufio"
	"encoding/binary"
	"image"
	"io"
)

// Cameras store pixels as the sensor lies and say in a JPEG's Exif segment how to turn them
// (JEITA CP-3451, Exif 2.2, tag Orientation): 1 is upright, 2 to 4 are mirrored or upside down,
// 5 to 8 have rows and columns exchanged as well.

const (
	exifTag      = 0x0112 // Orientation
	exifSegments = 64     // of a JPEG, looked through at most
	exifEntries  = 512    // of the first directory, looked through at most
)

// sideways tells whether an orientation exchanges height and width.
func sideways(orientation int) bool { return orientation >= 5 }

// jpegOrientation reads the orientation of a JPEG, 1 when r is none or does not say. It reads
// no further than the image's own data.
func jpegOrientation(r io.Reader) int {
	src := bufio.NewReader(r)
	var head [4]byte
	if _, err := io.ReadFull(src, head[:2]); err != nil || head[0] != 0xff || head[1] != 0xd8 {
		return 1
	}
	for range exifSegments {
		if _, err := io.ReadFull(src, head[:]); err != nil || head[0] != 0xff {
			return 1
		}
		size := int(binary.BigEndian.Uint16(head[2:])) - 2
		switch marker := head[1]; {
		case marker < 0xc0 || marker == 0xda || size < 0: // no segment, or the image begins
			return 1
		case marker == 0xe1:
			segment := make([]byte, size) // 65,533 bytes at most
			if _, err := io.ReadFull(src, segment); err != nil {
				return 1
			}
			if orientation := exifOrientation(segment); orientation > 0 {
				return orientation
			}
		default:
			if _, err := src.Discard(size); err != nil {
				return 1
			}
		}
	}
	return 1
}

// exifOrientation finds the tag in the first directory of an Exif segment, which is a TIFF
// header and what it points to; 0 when it is not there.
func exifOrientation(segment []byte) int {
	const begin = "Exif\x00\x00"
	if len(segment) < len(begin)+8 || string(segment[:len(begin)]) != begin {
		return 0
	}
	tiff := segment[len(begin):]
	var order binary.ByteOrder
	switch string(tiff[:4]) {
	case "II*\x00":
		order = binary.LittleEndian
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return 0
	}
	at := uint64(order.Uint32(tiff[4:]))
	if at+2 > uint64(len(tiff)) {
		return 0
	}
	entries := tiff[at+2:]
	for range min(int(order.Uint16(tiff[at:])), exifEntries, len(entries)/12) {
		tag, kind, count, value := order.Uint16(entries), order.Uint16(entries[2:]), order.Uint32(entries[4:]), order.Uint16(entries[8:])
		if tag == exifTag && kind == 3 && count == 1 && value >= 1 && value <= 8 {
			return int(value)
		}
		entries = entries[12:]
	}
	return 0
}

// turn gives the image upright.
func turn(img *image.RGBA, orientation int) *image.RGBA {
	if orientation == 1 {
		return img
	}
	w, h := img.Rect.Dx(), img.Rect.Dy()
	upright := image.Rect(0, 0, w, h)
	if sideways(orientation) {
		upright = image.Rect(0, 0, h, w)
	}
	out := image.NewRGBA(upright)
	for y := range h {
		for x := range w {
			copy(out.Pix[out.PixOffset(uprightPlace(x, y, w, h, orientation)):], img.Pix[img.PixOffset(x, y):][:4])
		}
	}
	return out
}

// uprightPlace gives the upright place of the stored pixel at x, y of an image w wide and h high.
func uprightPlace(x, y, w, h, orientation int) (int, int) {
	switch orientation {
	case 2, 3, 7, 8: // the first column is on the right, or at the bottom
		x = w - 1 - x
	}
	switch orientation {
	case 3, 4, 6, 7: // the first row is at the bottom, or on the right
		y = h - 1 - y
	}
	if sideways(orientation) {
		return y, x
	}
	return x, y
}
