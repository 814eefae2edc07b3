package collective

import (
	"fmt"
	"unsafe"
)

// Type is the type of a buffer's elements.
type Type uint8

// The types of elements.
const (
	Int8 Type = iota + 1
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Float16  // IEEE 754 binary16, held in uint16; sums are made in float32 and rounded at each step
	BFloat16 // the upper half of a float32, likewise
	Float32
	Float64
)

var typeNames = [...]string{Int8: "int8", Int16: "int16", Int32: "int32", Int64: "int64", Uint8: "uint8", Uint16: "uint16",
	Uint32: "uint32", Uint64: "uint64", Float16: "float16", BFloat16: "bfloat16", Float32: "float32", Float64: "float64"}

var typeSizes = [...]int{Int8: 1, Int16: 2, Int32: 4, Int64: 8, Uint8: 1, Uint16: 2, Uint32: 4, Uint64: 8,
	Float16: 2, BFloat16: 2, Float32: 4, Float64: 8}

func (t Type) String() string {
	if int(t) < len(typeNames) && t > 0 {
		return typeNames[t]
	}
	return fmt.Sprintf("type(%d)", uint8(t))
}

// Size is the number of bytes of an element.
func (t Type) Size() int { return typeSizes[t] }

// float reports whether elements can be multiplied with a weight.
func (t Type) float() bool { return t >= Float16 }

// Number are the Go types that a buffer can have.
type Number interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// Buffer is a slice of numbers of any type. The zero value is no buffer.
type Buffer struct {
	typ   Type
	n     int
	bytes []byte
}

// Of makes a buffer of a slice, which it shares.
func Of[T Number](x []T) Buffer { return shared(typeOf[T](), x) }

// OfFloat16 makes a buffer of half-precision numbers.
func OfFloat16(x []uint16) Buffer { return shared(Float16, x) }

// OfBFloat16 makes a buffer of bfloat16 numbers.
func OfBFloat16(x []uint16) Buffer { return shared(BFloat16, x) }

func shared[T Number](t Type, x []T) Buffer {
	return Buffer{t, len(x), unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*t.Size())}
}

func typeOf[T Number]() Type {
	switch any(*new(T)).(type) {
	case int8:
		return Int8
	case int16:
		return Int16
	case int32:
		return Int32
	case int64:
		return Int64
	case uint8:
		return Uint8
	case uint16:
		return Uint16
	case uint32:
		return Uint32
	case uint64:
		return Uint64
	case float32:
		return Float32
	}
	return Float64
}

// Type is the type of the elements, 0 for no buffer.
func (b Buffer) Type() Type { return b.typ }

// Len is the number of elements.
func (b Buffer) Len() int { return b.n }

// at is the memory of elements [lo, hi).
func (b Buffer) at(lo, hi int) []byte {
	s := b.typ.Size()
	return b.bytes[lo*s : hi*s]
}

// view is a buffer's memory as numbers.
func view[T Number](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(*new(T))))
}

// overlap reports whether two ranges of memory share a byte, and same whether they are the same range.
func overlap(a, b []byte) (overlap, same bool) {
	if len(a) == 0 || len(b) == 0 {
		return false, false
	}
	p, q := uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&b[0]))
	return p < q+uintptr(len(b)) && q < p+uintptr(len(a)), p == q && len(a) == len(b)
}

// Op is what a reduction does with elements in the same place.
type Op uint8

// The reductions.
const (
	Sum  Op = iota + 1
	Min     // NaN if any is NaN; -0 is less than +0
	Max     // likewise
	Mean    // the sum times float(1/n); for integers the sum, which may wrap, divided by n towards 0
	// WeightedMean is Σ mᵢ·xᵢ · float(1/M) with M = Σ mᵢ, products rounded before they are added, members of
	// weight 0 left out, and 0 if all are. It is for float types.
	WeightedMean
)

var opNames = [...]string{Sum: "sum", Min: "minimum", Max: "maximum", Mean: "mean", WeightedMean: "weighted mean"}

func (o Op) String() string {
	if int(o) < len(opNames) && o > 0 {
		return opNames[o]
	}
	return fmt.Sprintf("op(%d)", uint8(o))
}

// Kind is a collective operation.
type Kind uint8

// The operations.
const (
	AllReduce     Kind = iota + 1 // every member gets the reduction of all members' sources
	ReduceScatter                 // each member gets its part of it, see Part
	AllGather                     // every member gets all members' sources, in rank order
	Broadcast                     // every member gets the root's buffer
	Barrier                       // nobody goes on before all are here
)

var kindNames = [...]string{AllReduce: "all-reduce", ReduceScatter: "reduce-scatter", AllGather: "all-gather",
	Broadcast: "broadcast", Barrier: "barrier"}

func (k Kind) String() string {
	if int(k) < len(kindNames) && k > 0 {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Part gives the elements of part j when count elements are cut in n near-equal parts.
func Part(count, n, j int) (lo, hi int) { return count * j / n, count * (j + 1) / n }
