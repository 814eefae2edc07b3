package gemm

import "unsafe"

// window is a part of an image and of its channels: in place, or a copy with zeros where it reaches beyond the image.
type window struct {
	data         []float32
	y, x         int // where data begins in the image
	pitch, width int // of a row and of a pixel, in floats
}

// at returns the address of the pixel (y, x) of the image.
func (w window) at(y, x int) unsafe.Pointer { return at(w.data, (y-w.y)*w.pitch+(x-w.x)*w.width) }

// padded is a window of one image that may reach beyond its edges.
type padded struct {
	src               []float32 // the image
	h, w, pixel       int       // its size; floats of a pixel
	channel, channels int       // the channels of the window
	y, x              int       // the window's first row and column, perhaps outside
	rows, columns     int
}

// copy writes the window to dst, dense, with zeros outside the image.
func (p *padded) copy(dst []float32) {
	pitch := p.columns * p.channels
	left := min(max(-p.x, 0), p.columns)
	right := max(min(p.w-p.x, p.columns), left)
	for r := range p.rows {
		row := dst[r*pitch : (r+1)*pitch]
		y := p.y + r
		if y < 0 || y >= p.h {
			clear(row)
			continue
		}
		clear(row[:left*p.channels])
		clear(row[right*p.channels:])
		if left == right {
			continue
		}
		src := p.src[(y*p.w+p.x+left)*p.pixel+p.channel:]
		if p.pixel == p.channels {
			copy(row[left*p.channels:right*p.channels], src)
			continue
		}
		for x := left; x < right; x++ {
			copy(row[x*p.channels:(x+1)*p.channels], src[(x-left)*p.pixel:])
		}
	}
}
