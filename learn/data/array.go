package data

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
)

// DefaultLimit bounds the decompressed size of one array, and of one data set in memory,
// when no limit is given: 4 GiB.
const DefaultLimit = 4 << 30

// DType is the type of an array's elements.
type DType int

// The element types that files may hold.
const (
	U8 DType = iota
	I8
	I16
	I32
	I64
	F32
	F64
	U16
	U32
)

var dtypes = [...]struct {
	name string
	size int
}{{"uint8", 1}, {"int8", 1}, {"int16", 2}, {"int32", 4}, {"int64", 8}, {"float32", 4}, {"float64", 8}, {"uint16", 2}, {"uint32", 4}}

// String names the type.
func (t DType) String() string { return dtypes[t].name }

// Size is the number of bytes an element takes.
func (t DType) Size() int { return dtypes[t].size }

// Array is what a file of numbers holds: elements in row-major order, each little endian.
type Array struct {
	Type  DType
	Shape []int // empty for a single number
	Data  []byte
}

// NewArray makes an array of float32, uint8, int32 or int64 values; their number is the
// product of shape.
func NewArray[T float32 | uint8 | int32 | int64](values []T, shape ...int) (*Array, error) {
	if n, ok := product(shape, 8); !ok || n != len(values) {
		return nil, fmt.Errorf("%d values do not make an array of shape %v", len(values), shape)
	}
	a := &Array{Shape: slices.Clone(shape)}
	switch v := any(values).(type) {
	case []float32:
		a.Type = F32
		a.Data = make([]byte, 0, 4*len(v))
		for _, x := range v {
			a.Data = binary.LittleEndian.AppendUint32(a.Data, math.Float32bits(x))
		}
	case []uint8:
		a.Type, a.Data = U8, slices.Clone(v)
	case []int32:
		a.Type = I32
		a.Data = make([]byte, 0, 4*len(v))
		for _, x := range v {
			a.Data = binary.LittleEndian.AppendUint32(a.Data, uint32(x))
		}
	case []int64:
		a.Type = I64
		a.Data = make([]byte, 0, 8*len(v))
		for _, x := range v {
			a.Data = binary.LittleEndian.AppendUint64(a.Data, uint64(x))
		}
	}
	return a, nil
}

// Len is the number of elements.
func (a *Array) Len() int { return elements(a.Shape) }

// Float returns element i.
func (a *Array) Float(i int) float64 {
	switch a.Type {
	case F32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(a.Data[4*i:])))
	case F64:
		return math.Float64frombits(binary.LittleEndian.Uint64(a.Data[8*i:]))
	}
	return float64(a.integer(i))
}

// integer returns element i of an array of integers.
func (a *Array) integer(i int) int64 {
	switch a.Type {
	case I8:
		return int64(int8(a.Data[i]))
	case I16:
		return int64(int16(binary.LittleEndian.Uint16(a.Data[2*i:])))
	case I32:
		return int64(int32(binary.LittleEndian.Uint32(a.Data[4*i:])))
	case I64:
		return int64(binary.LittleEndian.Uint64(a.Data[8*i:]))
	case U16:
		return int64(binary.LittleEndian.Uint16(a.Data[2*i:]))
	case U32:
		return int64(binary.LittleEndian.Uint32(a.Data[4*i:]))
	}
	return int64(a.Data[i])
}

// Floats converts the elements to float32.
func (a *Array) Floats() []float32 {
	out := make([]float32, a.Len())
	for i := range out {
		out[i] = float32(a.Float(i))
	}
	return out
}

// Rows returns the first n rows as a view that shares the elements; n is at most the
// first dimension.
func (a *Array) Rows(n int) *Array {
	shape := append([]int{n}, a.Shape[1:]...)
	return &Array{Type: a.Type, Shape: shape, Data: a.Data[:elements(shape)*a.Type.Size()]}
}

// checkClaim bounds the size that a header claims, before anything is allocated for it.
func checkClaim(file string, offset int64, dims []int, t DType, limit int64) (int, error) {
	n, ok := product(dims, t.Size())
	if !ok {
		return 0, wrongByte(file, offset, "dimensions", "the product of %v overflows", dims)
	}
	if size := int64(n) * int64(t.Size()); size > limit {
		return 0, wrongByte(file, offset, "dimensions", "%v of %v take %d bytes, over the limit of %d", dims, t, size, limit)
	}
	return n * t.Size(), nil
}

// readClaimed reads the n bytes that a header promised. Memory grows with the bytes that
// really arrive, so a short file cannot make it allocate more than about twice its size.
func readClaimed(r io.Reader, file string, offset int64, n int) ([]byte, error) {
	buf := make([]byte, 0, min(n, 1<<16))
	for len(buf) < n {
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), min(n, 2*cap(buf)))
			copy(grown, buf)
			buf = grown
		}
		got, err := io.ReadFull(r, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+got]
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, wrongByte(file, offset+int64(len(buf)), "data", "the file ends here: the header promises %d bytes of data, there are %d", n, len(buf))
		}
		if err != nil {
			return nil, wrongByte(file, offset+int64(len(buf)), "data", "%w", err)
		}
	}
	return buf, nil
}

// expectEnd refuses bytes after the data.
func expectEnd(r io.Reader, file string, offset int64) error {
	var one [1]byte
	switch _, err := io.ReadFull(r, one[:]); {
	case err == nil:
		return wrongByte(file, offset, "end", "there are more bytes than the header promises")
	case errors.Is(err, io.EOF):
		return nil
	default:
		return wrongByte(file, offset, "end", "%w", err)
	}
}

// swapBytes turns big-endian elements into little-endian ones in place, or back.
func swapBytes(b []byte, size int) {
	if size > 1 {
		for i := 0; i+size <= len(b); i += size {
			slices.Reverse(b[i : i+size])
		}
	}
}

// openFile opens a file for reading; that it cannot be opened is the input's fault.
func openFile(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &InputError{File: path, Offset: -1, Err: plainCause(err)}
	}
	return f, nil
}

// plainCause drops the operation and path of a path error, which the message names already.
func plainCause(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}
