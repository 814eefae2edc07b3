package tensor_test

import (
	"testing"
	"unsafe"

	"millrace.dev/learn/tensor"
)

func TestDTypes(t *testing.T) {
	for d, size := range map[tensor.DType]int{tensor.Float32: 4, tensor.Float16: 2, tensor.BFloat16: 2, tensor.Int32: 4, tensor.Uint8: 1} {
		back, err := tensor.ParseDType(d.String())
		if err != nil || back != d || d.Size() != size || !d.Valid() {
			t.Errorf("%v: parsed as %v, %v; %d bytes", d, back, err, d.Size())
		}
	}
	for _, d := range []tensor.DType{0, 6, 255} {
		if d.Valid() || d.Size() != 0 || d.String() == "" {
			t.Errorf("type %d is taken for %v of %d bytes", uint8(d), d, d.Size())
		}
	}
	for _, s := range []string{"", "f64", "F32"} {
		if _, err := tensor.ParseDType(s); err == nil {
			t.Errorf("%q is a type", s)
		}
	}
}

func TestNew(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 17, 1000} {
		x, err := tensor.New(tensor.Float32, n, 3)
		if err != nil {
			t.Fatal(err)
		}
		if x.Elems() != 3*n || len(x.F32()) != 3*n || len(x.Bytes()) != 12*n || x.DType() != tensor.Float32 {
			t.Errorf("%d×3: %d elements, %d floats, %d bytes", n, x.Elems(), len(x.F32()), len(x.Bytes()))
		}
		for _, v := range x.F32() {
			if v != 0 {
				t.Fatal("a new tensor is not zero")
			}
		}
		if x.I32() != nil || x.U8() != nil || x.U16() != nil {
			t.Error("an f32 tensor gives another type's elements")
		}
	}
	for _, bad := range [][]int{{-1}, {1 << 20, 1 << 20}} {
		if _, err := tensor.New(tensor.Float32, bad...); err == nil {
			t.Errorf("a tensor of shape %v was made", bad)
		}
	}
	if _, err := tensor.New(0, 1); err == nil {
		t.Error("a tensor without a type was made")
	}
	dims := []int{2, 3}
	x, err := tensor.New(tensor.Uint8, dims...)
	if err != nil {
		t.Fatal(err)
	}
	dims[0] = 99
	if !x.Shape().Equal(tensor.Shape{2, 3}) {
		t.Error("a tensor shares the shape it was given")
	}
}

// TestViews wants no copies: what is written on one side is seen on the other.
func TestViews(t *testing.T) {
	f := []float32{1, 2, 3, 4}
	x, err := tensor.FromF32(f, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	x.F32()[3] = 9
	if f[3] != 9 {
		t.Error("FromF32 copied")
	}
	i := []int32{7}
	y, err := tensor.FromI32(i, 1)
	if err != nil {
		t.Fatal(err)
	}
	y.I32()[0] = -1
	if i[0] != -1 || y.DType() != tensor.Int32 {
		t.Error("FromI32 copied")
	}
	half, err := tensor.View(tensor.BFloat16, tensor.Shape{8}, x.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if got := half.U16()[1]; got != 0x3f80 { // the upper half of 1.0
		t.Errorf("bits %#x", got)
	}
	if _, err := tensor.View(tensor.Float16, tensor.Shape{4}, x.Bytes()); err == nil {
		t.Error("a view of another size was made")
	}
	if _, err := tensor.FromF32(f, 5); err == nil {
		t.Error("a shape with more elements was taken")
	}
	if _, err := tensor.FromF32(nil, 0, 7); err != nil {
		t.Errorf("an empty tensor: %v", err)
	}
	if _, err := tensor.View(tensor.Float32, tensor.Shape{-1}, nil); err == nil {
		t.Error("a negative shape was taken")
	}
	if len(tensor.Cast[float32](nil)) != 0 {
		t.Error("a cast of nothing has elements")
	}
}

func TestAlignment(t *testing.T) {
	for n := range 200 {
		b := tensor.AlignedBytes(n)
		if len(b) != n || cap(b) != n {
			t.Fatalf("%d bytes: length %d, capacity %d", n, len(b), cap(b))
		}
		f := tensor.AlignedF32(n)
		if len(f) != n {
			t.Fatalf("%d floats: %d", n, len(f))
		}
		if n == 0 {
			continue
		}
		for _, p := range []unsafe.Pointer{unsafe.Pointer(&b[0]), unsafe.Pointer(&f[0])} {
			if uintptr(p)%tensor.Align != 0 {
				t.Fatalf("%d elements start at %p", n, p)
			}
		}
	}
}
