package shm

import (
	"fmt"
	"os"
	"unsafe"

	"millrace.dev/internal/unixsock"
)

// Vector is a worker's gradients in memory that others can be shown. It must be closed after all teams that use it.
type Vector struct {
	fd  int
	mem []byte
	g   []float32
}

// NewVector makes a vector of zeros.
func NewVector(elements int) (*Vector, error) {
	if elements < 1 || elements > 1<<40 {
		return nil, fmt.Errorf("shm: a vector of %d elements", elements)
	}
	fd, mem, err := create("millrace-gradients", newLayout(elements, os.Getpagesize(), 1).vectorBytes(), false)
	if err != nil {
		return nil, err
	}
	return &Vector{fd, mem, floats(mem)[:elements:elements]}, nil
}

// Elements is the vector itself, until Close.
func (v *Vector) Elements() []float32 { return v.g }

// File opens the vector's memory anew, for a process that shall write the gradients in this one's stead. It has the
// elements from its beginning on, in whole pages. The caller closes it.
func (v *Vector) File() (*os.File, error) {
	fd, err := duplicate(v.fd)
	if err != nil {
		return nil, fmt.Errorf("shm: cannot open the gradients again: %w", err)
	}
	return os.NewFile(uintptr(fd), "millrace-gradients"), nil
}

// Close frees the memory. Nothing may use the elements any more.
func (v *Vector) Close() error {
	unixsock.CloseFiles([]int{v.fd})
	unmap(v.mem)
	v.fd, v.mem, v.g = -1, nil, nil
	return nil
}

// floats views memory as elements.
func floats(mem []byte) []float32 {
	if len(mem) == 0 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(mem))), len(mem)/wordSize)
}
