package shm

import (
	"unsafe"

	"millrace.dev/group/internal/vec"
	"millrace.dev/group/reduce"
)

// Operation is what members do to a buffer; it must be the same for all.
type Operation struct {
	Name string // of the buffer, in errors
	Tag  uint64 // of the element type and function: members compare it
	// Combine sets r = a ∘ b for runs of whole elements in rank order: a is of lower ranks than b. r may be the same
	// memory as a or b.
	Combine func(r, a, b []byte)
	// Finish is done once to each run of the result, such as a division; nil for nothing.
	Finish func(r []byte)
}

// Tags of the operations of this package.
const (
	tagSumFloat32 = iota + 1
	tagMeanFloat32
)

// SumFloat32 adds numbers in rank order.
func SumFloat32(name string) Operation {
	return Operation{Name: name, Tag: tagSumFloat32, Combine: addFloat32}
}

// MeanFloat32 adds numbers in rank order and multiplies them with float32(1/n), for n members.
func MeanFloat32(name string, n int) Operation {
	scale := reduce.Scale(uint64(n))
	return Operation{Name: name, Tag: tagMeanFloat32, Combine: addFloat32, Finish: func(r []byte) {
		vec.Scaled(floats(r), floats(r), 1, scale)
	}}
}

func addFloat32(r, a, b []byte) { vec.WeightedSum(floats(r), floats(a), floats(b), 1, 1) }

// Float32Bytes views numbers as the buffer of an operation.
func Float32Bytes(v []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*wordSize)
}

// hash is a number that differs where members' calls differ: FNV-1a.
func (op *Operation) hash(bytes int) uint64 {
	const prime = 0x100000001b3
	h := uint64(0xcbf29ce484222325)
	mix := func(v uint64) {
		for range 8 {
			h = (h ^ v&0xff) * prime
			v >>= 8
		}
	}
	for i := range len(op.Name) {
		h = (h ^ uint64(op.Name[i])) * prime
	}
	mix(op.Tag)
	mix(uint64(bytes))
	return h
}
