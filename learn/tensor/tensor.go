package tensor

import (
	"fmt"
	"unsafe"
)

// Align is the byte alignment of every buffer: one cache line, one 512-bit vector.
const Align = 64

// Tensor is a dense row-major array. The zero value is not usable; make one with New, FromF32,
// FromI32 or View.
type Tensor struct {
	dtype DType
	shape Shape
	data  []byte
}

// New allocates a zeroed tensor. It fails on a shape that Check refuses.
func New(dtype DType, shape ...int) (*Tensor, error) {
	s := Shape(shape).Clone()
	if !dtype.Valid() {
		return nil, fmt.Errorf("tensor: invalid element type %v", dtype)
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	return &Tensor{dtype, s, AlignedBytes(s.Elems() * dtype.Size())}, nil
}

// FromF32 makes a float32 tensor that uses data itself, without a copy.
func FromF32(data []float32, shape ...int) (*Tensor, error) {
	return View(Float32, shape, bytesOf(data))
}

// FromI32 makes an int32 tensor that uses data itself, without a copy.
func FromI32(data []int32, shape ...int) (*Tensor, error) {
	return View(Int32, shape, bytesOf(data))
}

// View makes a tensor over raw bytes, which must have exactly the size the shape asks for.
func View(dtype DType, shape Shape, data []byte) (*Tensor, error) {
	if !dtype.Valid() {
		return nil, fmt.Errorf("tensor: invalid element type %v", dtype)
	}
	if err := shape.Check(); err != nil {
		return nil, err
	}
	if want := shape.Elems() * dtype.Size(); len(data) != want {
		return nil, fmt.Errorf("tensor: shape %v of %v needs %d bytes, not %d", shape, dtype, want, len(data))
	}
	return &Tensor{dtype, shape.Clone(), data}, nil
}

// DType is the type of the elements.
func (t *Tensor) DType() DType { return t.dtype }

// Shape is the tensor's shape; the caller must not change it.
func (t *Tensor) Shape() Shape { return t.shape }

// Elems is the number of elements.
func (t *Tensor) Elems() int { return t.shape.Elems() }

// Bytes is the buffer itself.
func (t *Tensor) Bytes() []byte { return t.data }

// F32 is the buffer as float32, nil for another element type.
func (t *Tensor) F32() []float32 { return typed[float32](t, Float32) }

// I32 is the buffer as int32, nil for another element type.
func (t *Tensor) I32() []int32 { return typed[int32](t, Int32) }

// U8 is the buffer as bytes, nil for another element type.
func (t *Tensor) U8() []uint8 { return typed[uint8](t, Uint8) }

// U16 is the buffer of a Float16 or BFloat16 tensor as bit patterns, nil for another type.
func (t *Tensor) U16() []uint16 {
	if t.dtype == BFloat16 {
		return typed[uint16](t, BFloat16)
	}
	return typed[uint16](t, Float16)
}

func typed[T any](t *Tensor, d DType) []T {
	if t.dtype != d {
		return nil
	}
	return Cast[T](t.data)
}

// Cast views bytes as a slice of T. The bytes must be aligned for T and a multiple of its size.
func Cast[T any](b []byte) []T {
	var zero T
	if len(b) == 0 {
		return []T{}
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}

// BytesF32 views numbers as bytes, in this machine's order of bytes.
func BytesF32(v []float32) []byte { return bytesOf(v) }

func bytesOf[T any](v []T) []byte {
	var zero T
	if len(v) == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(zero)))
}

// AlignedBytes allocates n zeroed bytes that start on an Align boundary.
func AlignedBytes(n int) []byte {
	raw := make([]byte, n+Align)
	off := int(-uintptr(unsafe.Pointer(unsafe.SliceData(raw))) & (Align - 1))
	return raw[off : off+n : off+n]
}

// AlignedF32 allocates n zeroed float32 that start on an Align boundary.
func AlignedF32(n int) []float32 { return Cast[float32](AlignedBytes(n * 4)) }
