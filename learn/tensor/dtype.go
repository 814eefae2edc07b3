package tensor

import "fmt"

// DType is the type of a tensor's elements.
type DType uint8

// Float32 is what everything is computed in; Float16 and BFloat16 are storage only.
const (
	Float32 DType = iota + 1
	Float16
	BFloat16
	Int32
	Uint8
)

var dtypes = [...]struct {
	name string
	size int
}{
	Float32:  {"f32", 4},
	Float16:  {"f16", 2},
	BFloat16: {"bf16", 2},
	Int32:    {"i32", 4},
	Uint8:    {"u8", 1},
}

// Valid reports whether d is one of the declared types.
func (d DType) Valid() bool { return d >= Float32 && int(d) < len(dtypes) }

// Size is the number of bytes of one element.
func (d DType) Size() int {
	if !d.Valid() {
		return 0
	}
	return dtypes[d].size
}

func (d DType) String() string {
	if !d.Valid() {
		return fmt.Sprintf("dtype(%d)", uint8(d))
	}
	return dtypes[d].name
}

// ParseDType is the inverse of String.
func ParseDType(s string) (DType, error) {
	for i := range dtypes {
		if d := DType(i); d.Valid() && dtypes[i].name == s {
			return d, nil
		}
	}
	return 0, fmt.Errorf("tensor: unknown element type %q", s)
}
